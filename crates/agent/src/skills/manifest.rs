//! The description of a skill, from the front matter of its SKILL.md.
//!
//! The format is that of <https://agentskills.io/specification>, with the fields
//! `disable-model-invocation`, `user-invocable` and `argument-hint` that other agents added.

use super::front_matter::{self, Document};
use crate::{
    limits::{
        COMMAND_HINT_CHARS, SKILL_BYTES, SKILL_COMPATIBILITY_CHARS, SKILL_DESCRIPTION_CHARS, SKILL_NAME_CHARS,
    },
    text::sanitise::label,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The fields that are known; others are ignored.
const FIELDS: [&str; 9] = [
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
    "argument-hint",
    "disable-model-invocation",
    "user-invocable",
];

/// What a skill says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// What it does and when to use it, on one line.
    pub description: String,
    /// Its licence.
    pub license: Option<String>,
    /// What it needs.
    pub compatibility: Option<String>,
    /// The tools that its author expects to be allowed. Shown only: they loosen no permission.
    pub allowed_tools: Vec<String>,
    /// Further properties.
    pub metadata: BTreeMap<String, String>,
    /// A placeholder for its argument as a slash command.
    pub hint: Option<String>,
    /// Who may start it.
    pub started_by: StartedBy,
}

/// Who may start a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedBy {
    /// The model, which then has its description.
    pub model: bool,
    /// The user, by a slash command.
    pub user: bool,
}

/// A parsed SKILL.md.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkillText {
    pub(super) manifest: Manifest,
    pub(super) body: String,
    /// Violations of the format that do not prevent its use.
    pub(super) warnings: Vec<String>,
}

/// Parses the text of a SKILL.md in a directory of this name.
///
/// # Errors
///
/// Says why it is no usable skill.
pub(super) fn parse(text: &str, directory: &str) -> Result<SkillText, String> {
    if text.len() > SKILL_BYTES {
        return Err(format!("its SKILL.md is larger than {SKILL_BYTES} bytes"));
    }
    let Document { fields, body } = front_matter::split(text)?;
    let fields = fields.ok_or("its SKILL.md does not begin with front matter: a line `---`")?;
    let mut warnings = Vec::new();
    let name = name(&fields, directory, &mut warnings)?;
    let description = line(&fields, "description", SKILL_DESCRIPTION_CHARS, &mut warnings)
        .ok_or("its front matter has no `description`")?;
    let unknown = fields.keys().filter(|key| !FIELDS.contains(&key.as_str()));
    warnings.extend(unknown.map(|key| format!("`{}` is not a known field", label(key, SKILL_NAME_CHARS))));
    let manifest = Manifest {
        name,
        description,
        license: line(&fields, "license", SKILL_DESCRIPTION_CHARS, &mut warnings),
        compatibility: line(&fields, "compatibility", SKILL_COMPATIBILITY_CHARS, &mut warnings),
        allowed_tools: allowed_tools(&fields, &mut warnings),
        metadata: metadata(&fields, &mut warnings),
        hint: hint(&fields),
        started_by: StartedBy {
            model: !flag(&fields, "disable-model-invocation", false, &mut warnings),
            user: flag(&fields, "user-invocable", true, &mut warnings),
        },
    };
    if body.is_empty() {
        warnings.push("it has no instructions after the front matter".to_owned());
    }
    Ok(SkillText { manifest, body: body.to_owned(), warnings })
}

/// Whether a text may be the name of a skill.
fn is_name(name: &str) -> bool {
    name.len() <= SKILL_NAME_CHARS
        && name.split('-').all(|part| !part.is_empty())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Returns the skill's name: the given one, or that of its directory.
fn name(fields: &Map<String, Value>, directory: &str, warnings: &mut Vec<String>) -> Result<String, String> {
    let given = fields.get("name").and_then(text);
    match &given {
        Some(given) if is_name(given) => {
            if given != directory {
                warnings.push(format!("its name, {given}, is not that of its directory"));
            }
            return Ok(given.clone());
        }
        Some(_) => warnings.push(format!(
            "its name is not 1 to {SKILL_NAME_CHARS} lower-case letters, digits and single hyphens"
        )),
        None => warnings.push("its front matter has no `name`".to_owned()),
    }
    match is_name(directory) {
        true => Ok(directory.to_owned()),
        false => Err(format!(
            "it has no usable name: neither `name` nor the directory is 1 to {SKILL_NAME_CHARS} lower-case \
             letters, digits and single hyphens"
        )),
    }
}

/// Returns a scalar as text.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns a field on one line, cut to its limit; `None` if it is missing or empty.
fn line(fields: &Map<String, Value>, key: &str, most: usize, warnings: &mut Vec<String>) -> Option<String> {
    let value = fields.get(key).filter(|value| !value.is_null())?;
    let Some(given) = text(value) else {
        warnings.push(format!("`{key}` is not a text"));
        return None;
    };
    if given.chars().count() > most {
        warnings.push(format!("`{key}` is longer than {most} characters; the rest is cut"));
    }
    Some(label(&given, most)).filter(|line| !line.is_empty())
}

/// Returns the argument hint of a skill or a command.
pub(super) fn hint(fields: &Map<String, Value>) -> Option<String> {
    let hint = match fields.get("argument-hint")? {
        // `[file]` without quotes is a list in YAML.
        Value::Array(items) => {
            let items: Vec<_> = items.iter().filter_map(text).collect();
            format!("[{}]", items.join(", "))
        }
        value => text(value)?,
    };
    Some(label(&hint, COMMAND_HINT_CHARS)).filter(|hint| !hint.is_empty())
}

fn flag(fields: &Map<String, Value>, key: &str, default: bool, warnings: &mut Vec<String>) -> bool {
    match fields.get(key).map(|value| text(value).unwrap_or_default().to_ascii_lowercase()).as_deref() {
        None => default,
        Some("true" | "yes" | "on") => true,
        Some("false" | "no" | "off") => false,
        Some(_) => {
            warnings.push(format!("`{key}` is neither true nor false"));
            default
        }
    }
}

fn allowed_tools(fields: &Map<String, Value>, warnings: &mut Vec<String>) -> Vec<String> {
    let words = |text: &str| {
        let words = text.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty());
        words.map(|word| label(word, SKILL_NAME_CHARS)).collect::<Vec<_>>()
    };
    match fields.get("allowed-tools") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().filter_map(text).flat_map(|item| words(&item)).collect(),
        Some(value) => match text(value) {
            Some(text) => words(&text),
            None => {
                warnings.push("`allowed-tools` is not a list of names".to_owned());
                Vec::new()
            }
        },
    }
}

fn metadata(fields: &Map<String, Value>, warnings: &mut Vec<String>) -> BTreeMap<String, String> {
    match fields.get("metadata") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(Value::Object(map)) => {
            let entry = |(key, value): (&String, &Value)| {
                let key = label(key, SKILL_NAME_CHARS);
                Some((key, label(&text(value)?, SKILL_DESCRIPTION_CHARS)))
            };
            map.iter().filter_map(entry).collect()
        }
        Some(_) => {
            warnings.push("`metadata` is not a list of `name: value`".to_owned());
            BTreeMap::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complete_skill_is_read_without_a_warning() {
        let text = "---\nname: pdf-forms\ndescription: >-\n  Fills in forms.\n  Use it for PDF files.\n\
                    license: MIT\ncompatibility: Needs qpdf\nmetadata:\n  author: me\n  version: 1.0\n\
                    allowed-tools: Bash(qpdf:*) Read\nargument-hint: [file]\n\
                    disable-model-invocation: true\nuser-invocable: yes\n---\n\n# Forms\n";
        let SkillText { manifest, body, warnings } = parse(text, "pdf-forms").unwrap();
        assert_eq!(warnings, [""; 0]);
        assert_eq!(body, "# Forms");
        assert_eq!(
            manifest,
            Manifest {
                name: "pdf-forms".to_owned(),
                description: "Fills in forms. Use it for PDF files.".to_owned(),
                license: Some("MIT".to_owned()),
                compatibility: Some("Needs qpdf".to_owned()),
                allowed_tools: vec!["Bash(qpdf:*)".to_owned(), "Read".to_owned()],
                metadata: [("author", "me"), ("version", "1.0")]
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
                hint: Some("[file]".to_owned()),
                started_by: StartedBy { model: false, user: true },
            }
        );
    }

    #[test]
    fn a_skill_that_violates_the_format_a_little_is_used_with_a_warning() {
        let long = "x".repeat(SKILL_DESCRIPTION_CHARS + 1);
        for (front, name, warning) in [
            ("name: other\ndescription: d", "other", "not that of its directory"),
            ("description: d", "dir", "has no `name`"),
            ("name: Not A Name\ndescription: d", "dir", "lower-case letters"),
            ("name: a--b\ndescription: d", "dir", "lower-case letters"),
            ("name: dir\ndescription: d\nmodel: x", "dir", "`model` is not a known field"),
            ("name: dir\ndescription: d\nuser-invocable: maybe", "dir", "neither true nor false"),
            ("name: dir\ndescription: d\nlicense: [a]", "dir", "`license` is not a text"),
            (&format!("name: dir\ndescription: {long}"), "dir", "longer than 1024 characters"),
        ] {
            let skill = parse(&format!("---\n{front}\n---\nBody"), "dir").unwrap();
            assert_eq!(skill.manifest.name, name, "{front}");
            assert!(
                skill.warnings.iter().any(|found| found.contains(warning)),
                "{front}: {:?}",
                skill.warnings
            );
            assert!(skill.manifest.description.chars().count() <= SKILL_DESCRIPTION_CHARS);
        }
    }

    #[test]
    fn what_is_no_skill_is_refused_with_the_reason() {
        let large = "x".repeat(SKILL_BYTES + 1);
        for (text, directory, why) in [
            ("# Title", "dir", "does not begin with front matter"),
            ("---\nname: dir\n---\n", "dir", "no `description`"),
            ("---\nname: dir\ndescription: ' '\n---\n", "dir", "no `description`"),
            ("---\nname: Bad\ndescription: d\n---\n", "Bad", "no usable name"),
            ("---\ndescription: d\n---\n", "../up", "no usable name"),
            (large.as_str(), "dir", "larger than"),
        ] {
            let found = parse(text, directory).unwrap_err();
            assert!(found.contains(why), "{directory}: {found}");
        }
    }

    #[test]
    fn a_description_is_one_line_without_hidden_characters() {
        let text = "---\nname: dir\ndescription: \"a\\nb\\u001b[2J\\u202ec\"\n---\n";
        assert_eq!(parse(text, "dir").unwrap().manifest.description, "a bc");
    }
}
