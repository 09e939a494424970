//! The attacks, read from the files of `tests/wall/attacks`.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};
use std::path::Path;

/// How a terminal of the scripted editor interprets `command` and `args`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ArgumentStyle {
    /// As an argument vector.
    Argv,
    /// Joined with spaces and passed to a shell, which splits arguments that contain spaces.
    Joined,
    /// Quoted, joined and passed to a shell.
    Quoted,
}

/// Where the commands of an attack run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Locally, without an editor.
    Local,
    /// In an editor's terminal; `launcher` is whether the editor's machine has Tiller's launcher.
    Editor { argument_style: ArgumentStyle, launcher: bool },
}

impl Place {
    fn parse(text: &str) -> Result<Self> {
        let editor = |argument_style, launcher| Self::Editor { argument_style, launcher };
        Ok(match text {
            "local" => Self::Local,
            "editor" => editor(ArgumentStyle::Argv, false),
            "editor-launcher" => editor(ArgumentStyle::Argv, true),
            "editor-joined" => editor(ArgumentStyle::Joined, true),
            "editor-quoted" => editor(ArgumentStyle::Quoted, true),
            other => bail!("no such place: {other}"),
        })
    }
}

/// A call that the scripted model makes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// One variant of an attack.
#[derive(Debug, Clone)]
pub(super) struct Attack {
    pub(super) family: String,
    /// The entry's name, shared by its variants.
    pub(super) name: String,
    /// A description of the variant, such as `guardian local user`.
    pub(super) variant: String,
    pub(super) environment: Environment,
    pub(super) script: Script,
    pub(super) check: Check,
}

/// What surrounds Tiller during an attack.
#[derive(Debug, Clone)]
pub(super) struct Environment {
    pub(super) place: Place,
    pub(super) root: bool,
    /// The permission mode.
    pub(super) mode: String,
    /// The agent mode.
    pub(super) agent: String,
    /// The content of the user's `config.toml`.
    pub(super) settings: String,
    /// Additional variables in Tiller's environment.
    pub(super) variables: Vec<(String, String)>,
    /// Programs that the attack requires.
    pub(super) needs: Vec<String>,
    /// Whether services listen on this machine during the attack.
    pub(super) services: bool,
}

/// What the user, the model and the editor do.
#[derive(Debug, Clone)]
pub(super) struct Script {
    /// A shell script that runs as the user beforehand.
    pub(super) setup: String,
    pub(super) calls: Vec<Call>,
    /// The model's final text.
    pub(super) final_text: String,
    /// The editor's decisions about the first calls, as kinds of options; further requests are
    /// rejected.
    pub(super) answers: Vec<String>,
    /// A shell script that runs as the user afterwards.
    pub(super) after: String,
}

/// How the outcome is judged.
#[derive(Debug, Clone)]
pub(super) struct Check {
    /// A shell predicate that succeeds if the attack did, or if the result is right.
    pub(super) success: String,
    /// The document that admits the weakness, with its words: `FILE: WORDS`.
    pub(super) documented: Option<String>,
    /// The reason why it cannot be tested in an unconfined shell.
    pub(super) no_self_test: Option<String>,
    /// Seconds between Tiller's exit and the check of the outcome.
    pub(super) settle: f64,
    /// Whether Tiller may exit before every call was answered.
    pub(super) may_end: bool,
}

const KEYS: [&str; 23] = [
    "name",
    "mode",
    "agent",
    "where",
    "as",
    "setup",
    "settings",
    "env",
    "calls",
    "says",
    "answers",
    "after",
    "through",
    "right",
    "documented",
    "documented_prometheus",
    "selftest",
    "settle",
    "needs",
    "services",
    "may_end",
    "each",
    "why",
];

/// Reads all families, ordered by name.
///
/// # Errors
///
/// Fails if a file cannot be read, or contains invalid entries.
pub(super) fn read(directory: &Path) -> Result<Vec<Attack>> {
    let mut attacks = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    for path in paths {
        let family = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path)?;
        attacks.extend(parse(&family, &text).with_context(|| path.display().to_string())?);
    }
    Ok(attacks)
}

fn parse(family: &str, text: &str) -> Result<Vec<Attack>> {
    let file: Value = toml::from_str(text)?;
    let empty = Map::new();
    let defaults = file["defaults"].as_object().unwrap_or(&empty);
    let entries = file.get("attack").or_else(|| file.get("result"));
    let entries = entries.and_then(Value::as_array).context("no [[attack]] and no [[result]]")?;
    let mut attacks = Vec::new();
    for entry in entries {
        let mut table = defaults.clone();
        table.extend(entry.as_object().context("an attack is a table")?.clone());
        let name = table.get("name").and_then(Value::as_str).context("an attack has no name")?.to_owned();
        add_entry(family, &table, &mut attacks).with_context(|| name)?;
    }
    let mut names: Vec<_> = attacks.iter().map(|attack| (&attack.name, &attack.variant)).collect();
    names.sort();
    if let Some(duplicate) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("the name {} is used twice", duplicate[0].0);
    }
    Ok(attacks)
}

/// Returns the first variant of an entry.
pub(super) fn single(family: &str, table: &Map<String, Value>) -> Result<Attack> {
    let mut attacks = Vec::new();
    add_entry(family, table, &mut attacks)?;
    attacks.into_iter().next().context("an entry has a variant")
}

/// Adds an entry in all its variants: each value of `each`, `mode`, `where` and `as`.
fn add_entry(family: &str, table: &Map<String, Value>, attacks: &mut Vec<Attack>) -> Result<()> {
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        bail!("no such key: {key}");
    }
    for each in list(table, "each", "")? {
        for mode in list(table, "mode", "guardian")? {
            for place in list(table, "where", "local")? {
                for user in list(table, "as", "user")? {
                    let users = if user == "both" { &["user", "root"][..] } else { &[user.as_str()] };
                    for user in users {
                        attacks.push(variant(family, table, &each, &mode, &place, user)?);
                    }
                }
            }
        }
    }
    Ok(())
}

fn variant(
    family: &str,
    table: &Map<String, Value>,
    each: &str,
    mode: &str,
    place: &str,
    user: &str,
) -> Result<Attack> {
    if !["guardian", "argus", "prometheus"].contains(&mode) || !["user", "root"].contains(&user) {
        bail!("no such mode or user: {mode}, {user}");
    }
    let entry = Entry { table, each };
    Ok(Attack {
        family: family.to_owned(),
        name: entry.text("name"),
        variant: format!("{mode} {place} {user}"),
        environment: entry.environment(mode, place, user == "root")?,
        script: entry.script()?,
        check: entry.check(mode)?,
    })
}

/// An entry of a file, with one value of `each`.
struct Entry<'a> {
    table: &'a Map<String, Value>,
    each: &'a str,
}

impl Entry<'_> {
    fn environment(&self, mode: &str, place: &str, root: bool) -> Result<Environment> {
        let variables = self.table.get("env").and_then(Value::as_object).cloned().unwrap_or_default();
        let variable = |(name, value): (String, Value)| (name, value.as_str().unwrap_or_default().to_owned());
        Ok(Environment {
            place: Place::parse(place)?,
            root,
            mode: mode.to_owned(),
            agent: self.text_or("agent", "edit"),
            settings: self.text("settings"),
            variables: variables.into_iter().map(variable).collect(),
            needs: self.texts("needs")?,
            services: self.flag("services"),
        })
    }

    fn script(&self) -> Result<Script> {
        let calls = self.table.get("calls").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(Script {
            setup: self.text("setup"),
            calls: calls.iter().map(|value| call(value, self.each)).collect::<Result<_>>()?,
            final_text: self.text_or("says", "done"),
            answers: self.texts("answers")?,
            after: self.text("after"),
        })
    }

    fn check(&self, mode: &str) -> Result<Check> {
        let success =
            ["through", "right"].map(|key| self.text(key)).into_iter().find(|text| !text.is_empty());
        let success = success.context("`through` or `right` is missing")?;
        let of_mode = if mode == "prometheus" { self.table.get("documented_prometheus") } else { None };
        let documented = of_mode.or_else(|| self.table.get("documented")).and_then(Value::as_str);
        let no_self_test = match self.table.get("selftest") {
            None | Some(Value::Bool(true)) => None,
            Some(Value::Bool(false)) => {
                Some(Some(self.text("why")).filter(|why| !why.is_empty()).context("say `why`")?)
            }
            Some(_) => bail!("`selftest` is true or false"),
        };
        Ok(Check {
            success,
            documented: documented.map(str::to_owned),
            no_self_test,
            settle: self.table.get("settle").and_then(Value::as_f64).unwrap_or_default(),
            may_end: self.flag("may_end"),
        })
    }

    /// Returns the text of a key; empty if it is missing.
    fn text(&self, key: &str) -> String {
        let text = self.table.get(key).and_then(Value::as_str).unwrap_or_default();
        text.replace("@EACH@", self.each)
    }

    fn text_or(&self, key: &str, default: &str) -> String {
        Some(self.text(key)).filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned())
    }

    fn texts(&self, key: &str) -> Result<Vec<String>> {
        if self.table.contains_key(key) { list(self.table, key, "") } else { Ok(Vec::new()) }
    }

    fn flag(&self, key: &str) -> bool {
        self.table.get(key).and_then(Value::as_bool).unwrap_or_default()
    }
}

/// Parses a call. A string is a command line for `bash`; a table names the tool and contains its
/// arguments.
fn call(value: &Value, each: &str) -> Result<Call> {
    match with_texts(value.clone(), &mut |text| text.replace("@EACH@", each)) {
        Value::String(command) => {
            Ok(Call { tool: "bash".to_owned(), arguments: serde_json::json!({ "command": command }) })
        }
        Value::Object(mut table) => {
            let tool = table.remove("tool").and_then(|tool| Some(tool.as_str()?.to_owned()));
            Ok(Call { tool: tool.unwrap_or_else(|| "bash".to_owned()), arguments: Value::Object(table) })
        }
        other => bail!("not a call: {other}"),
    }
}

/// Replaces every text in a value, and every key.
pub(super) fn with_texts(value: Value, replace: &mut impl FnMut(String) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(replace(text)),
        Value::Array(values) => values.into_iter().map(|value| with_texts(value, replace)).collect(),
        Value::Object(table) => {
            table.into_iter().map(|(key, value)| (replace(key), with_texts(value, replace))).collect()
        }
        other => other,
    }
}

/// Returns a list of strings, which may be written as a single string.
fn list(table: &Map<String, Value>, key: &str, default: &str) -> Result<Vec<String>> {
    match table.get(key) {
        None => Ok(vec![default.to_owned()]),
        Some(Value::String(text)) => Ok(vec![text.clone()]),
        Some(Value::Array(texts)) => texts
            .iter()
            .map(|text| {
                Ok(text.as_str().with_context(|| format!("`{key}` must be a list of strings"))?.to_owned())
            })
            .collect(),
        Some(_) => bail!("`{key}` is a text or a list of texts"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_runs_in_every_variant_it_names() {
        let text = r#"
            [defaults]
            mode = ["guardian", "argus"]
            [[attack]]
            name = "make-@EACH@"
            each = ["a", "b"]
            as = "both"
            calls = ["touch @EACH@", { tool = "file_write", path = "@EACH@", content = "" }]
            through = "test -e @EACH@"
        "#;
        let attacks = parse("f", text).unwrap();
        assert_eq!(attacks.len(), 8);
        assert_eq!(
            (attacks[0].name.as_str(), attacks[0].variant.as_str()),
            ("make-a", "guardian local user")
        );
        assert_eq!(attacks[7].script.calls[0].arguments["command"], "touch b");
        assert_eq!(attacks[7].script.calls[1].tool, "file_write");
        assert!(attacks[7].environment.root);
    }

    #[test]
    fn meaningless_entries_are_errors() {
        for bad in [
            "[[attack]]\nname = 'a'",
            "[[attack]]\nname = 'a'\nthrough = 'x'\ntrough = 'y'",
            "[[attack]]\nname = 'a'\nthrough = 'x'\nselftest = false",
            "[[attack]]\nname = 'a'\nthrough = 'x'\nmode = 'none'",
            "[[attack]]\nname = 'a'\nthrough = 'x'\n[[attack]]\nname = 'a'\nthrough = 'x'",
        ] {
            assert!(parse("f", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_corpus_can_be_read() {
        let attacks = read(&crate::process::root().join("tests/wall/attacks")).unwrap();
        let mut names: Vec<_> = attacks.iter().map(|attack| (&attack.family, &attack.name)).collect();
        names.sort();
        names.dedup();
        assert!(names.len() >= 250, "{}", names.len());
    }

    #[test]
    fn documented_weaknesses_are_in_the_document() {
        let root = crate::process::root();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for attack in read(&root.join("tests/wall/attacks")).unwrap() {
            let Some((file, claim)) =
                attack.check.documented.as_deref().and_then(|text| text.split_once(": "))
            else {
                assert_eq!(attack.check.documented, None, "{}: write FILE: WORDS", attack.name);
                continue;
            };
            let text = std::fs::read_to_string(root.join(file)).unwrap();
            assert!(words(&text).contains(&words(claim)), "{}: {file} does not say: {claim}", attack.name);
        }
    }
}
