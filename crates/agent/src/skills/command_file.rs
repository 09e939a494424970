//! A slash command from a Markdown file.

use super::{
    arguments::fill_in,
    front_matter::{self, Document},
    manifest::hint,
};
use crate::{
    limits::{SKILL_BYTES, SKILL_DESCRIPTION_CHARS},
    text::sanitise::label,
};
use serde_json::Value;

/// A slash command from a Markdown file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFile {
    /// What it does, on one line.
    pub description: String,
    /// A placeholder for its argument.
    pub hint: Option<String>,
    /// The prompt, with placeholders for the arguments.
    pub body: String,
}

impl CommandFile {
    /// Parses the text of a command's file.
    ///
    /// # Errors
    ///
    /// Says why it is no usable command.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > SKILL_BYTES {
            return Err(format!("it is larger than {SKILL_BYTES} bytes"));
        }
        let Document { fields, body } = front_matter::split(text)?;
        if body.is_empty() {
            return Err("it has no text after the front matter".to_owned());
        }
        let fields = fields.unwrap_or_default();
        let described = fields.get("description").and_then(Value::as_str);
        let first =
            || body.lines().map(|line| line.trim_start_matches(['#', ' '])).find(|line| !line.is_empty());
        let description = label(described.or_else(first).unwrap_or_default(), SKILL_DESCRIPTION_CHARS);
        Ok(Self { description, hint: hint(&fields), body: body.to_owned() })
    }

    /// Returns the prompt with the user's arguments.
    pub(super) fn prompt(&self, arguments: &str) -> String {
        fill_in(&self.body, arguments)
    }
}

/// Returns the name of the command in a file, from the path below its directory of commands:
/// `git/commit.md` is `git:commit`. `None` if it cannot be a name.
pub(super) fn name(path: &str) -> Option<String> {
    let parts: Vec<_> = path.strip_suffix(".md")?.split('/').collect();
    let is_part = |part: &&str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    parts.iter().all(is_part).then(|| parts.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_described_by_its_front_matter_or_its_first_line() {
        let command =
            CommandFile::parse("---\ndescription: Commits\nargument-hint: [what]\nmodel: x\n---\nDo $1\n");
        let expected = CommandFile {
            description: "Commits".to_owned(),
            hint: Some("[what]".to_owned()),
            body: "Do $1".to_owned(),
        };
        assert_eq!(command, Ok(expected));
        let plain = CommandFile::parse("\n# Commit it\n\nNow.").unwrap();
        assert_eq!((plain.description.as_str(), plain.hint), ("Commit it", None));
        for (text, why) in [("---\nd: e\n---\n", "no text"), ("---\nx", "no end"), ("", "no text")] {
            assert!(CommandFile::parse(text).unwrap_err().contains(why), "{text:?}");
        }
    }

    #[test]
    fn a_path_names_a_command_and_its_directories_are_namespaces() {
        for (path, expected) in [
            ("commit.md", Some("commit")),
            ("git/sub_dir/commit-all.md", Some("git:sub_dir:commit-all")),
            ("README.txt", None),
            ("a b.md", None),
            ("a:b.md", None),
            (".md", None),
            ("ü.md", None),
        ] {
            assert_eq!(name(path).as_deref(), expected, "{path}");
        }
    }
}
