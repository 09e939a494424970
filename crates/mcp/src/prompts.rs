//! Prompts of servers as slash commands.

use crate::{limits::PROMPT_CHARS, locked::locked, names::tool_name};
use agent::{CommandGroup, SlashCommand};
use rmcp::model::{JsonObject, Prompt};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// The current prompts of a server.
pub(crate) struct Prompts {
    all: Mutex<Vec<Arc<PromptDefinition>>>,
    prompts_changed: Arc<Notify>,
}

/// A prompt and its slash command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PromptDefinition {
    /// The command's name, without the slash.
    pub(crate) command: String,
    /// The server's name for it.
    pub(crate) name: String,
    description: String,
    /// Names of its arguments, and whether each is required.
    arguments: Vec<(String, bool)>,
}

impl Prompts {
    /// Starts empty; `prompts_changed` is notified when the prompts change.
    pub(crate) fn new(prompts_changed: Arc<Notify>) -> Self {
        Self { all: Mutex::default(), prompts_changed }
    }

    pub(crate) fn all(&self) -> Vec<Arc<PromptDefinition>> {
        locked(&self.all).clone()
    }

    pub(crate) fn set(&self, prompts: Vec<Arc<PromptDefinition>>) {
        let mut all = locked(&self.all);
        if *all != prompts {
            *all = prompts;
            self.prompts_changed.notify_one();
        }
    }
}

impl PromptDefinition {
    pub(crate) fn new(server: &str, prompt: &Prompt) -> Self {
        let about = prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or(&prompt.name);
        let about: String = agent::one_line(&agent::sanitise(about)).chars().take(PROMPT_CHARS).collect();
        let arguments = prompt.arguments.iter().flatten();
        Self {
            command: tool_name(server, &prompt.name),
            name: prompt.name.clone(),
            description: format!("{server}: {about}"),
            arguments: arguments
                .map(|argument| (argument.name.clone(), argument.required == Some(true)))
                .collect(),
        }
    }

    pub(crate) fn slash_command(&self) -> SlashCommand {
        let hint = |(name, needed): &(String, bool)| {
            let name = agent::one_line(&agent::sanitise(name));
            if *needed { name } else { format!("[{name}]") }
        };
        let hints: Vec<_> = self.arguments.iter().map(hint).collect();
        SlashCommand {
            name: self.command.clone().into(),
            description: self.description.clone().into(),
            hint: (!hints.is_empty()).then(|| hints.join(" ").into()),
            group: CommandGroup::Server,
        }
    }

    /// Parses the arguments on a command line: `NAME=VALUE` sets an argument by name, other words
    /// fill the rest in order, and the last one takes the remaining text. Quotes group words.
    pub(crate) fn arguments(&self, line: &str) -> Result<JsonObject, String> {
        let mut given = JsonObject::new();
        let mut rest = line.trim();
        while !rest.is_empty() {
            let named = |word: &str| {
                let (name, _) = word.split_once('=')?;
                self.arguments.iter().find(|(known, _)| known == name)
            };
            let free: Vec<_> = self.arguments.iter().filter(|(name, _)| !given.contains_key(name)).collect();
            let (word, after) = first_word(rest);
            if let Some((name, _)) = named(&word) {
                given.insert(name.clone(), json!(word[name.len() + 1..]));
                rest = after;
                continue;
            }
            match free.as_slice() {
                [] => return Err(format!("too many arguments; it takes {}", self.names())),
                [(last, _)] if !quoted(rest) => {
                    given.insert(last.clone(), json!(rest));
                    rest = "";
                }
                [(next, _), ..] => {
                    given.insert(next.clone(), json!(word));
                    rest = after;
                }
            }
        }
        let missing: Vec<_> = self
            .arguments
            .iter()
            .filter(|(name, needed)| *needed && !given.contains_key(name))
            .map(|(name, _)| name.as_str())
            .collect();
        if missing.is_empty() {
            return Ok(given);
        }
        Err(format!(
            "missing arguments: the prompt needs {}; use `/{} {}`",
            missing.join(", "),
            self.command,
            self.names()
        ))
    }

    fn names(&self) -> String {
        let names: Vec<_> = self.arguments.iter().map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(" ") }
    }
}

fn quoted(text: &str) -> bool {
    text.starts_with(['"', '\''])
}

/// Splits off the first word of a line, without its quotes. `NAME="…"` is one word as well.
fn first_word(line: &str) -> (String, &str) {
    let (mut word, mut quote) = (String::new(), None);
    for (at, c) in line.char_indices() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) if word.is_empty() || word.ends_with('=') => quote = Some(c),
            (c, None) if c.is_whitespace() => return (word, line[at..].trim_start()),
            (c, _) => word.push(c),
        }
    }
    (word, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn prompt(arguments: &[(&str, bool)]) -> PromptDefinition {
        let arguments =
            arguments.iter().map(|(name, required)| json!({ "name": name, "required": required }));
        let prompt = json!({ "name": "p", "arguments": arguments.collect::<Vec<_>>() });
        PromptDefinition::new("s", &serde_json::from_value(prompt).unwrap())
    }

    #[test]
    fn arguments_are_named_or_in_order() {
        let two = prompt(&[("city", true), ("state", false)]);
        for (line, expected) in [
            ("Rome", json!({ "city": "Rome" })),
            ("Rome upper left", json!({ "city": "Rome", "state": "upper left" })),
            ("\"New York\" NY", json!({ "city": "New York", "state": "NY" })),
            ("state=NY city='New York'", json!({ "city": "New York", "state": "NY" })),
            ("state=NY New York", json!({ "city": "New York", "state": "NY" })),
            ("a=b", json!({ "city": "a=b" })),
        ] {
            assert_eq!(two.arguments(line).map(Value::Object), Ok(expected), "{line}");
        }
        let missing = two.arguments("state=x").unwrap_err();
        assert!(missing.contains("needs city") && missing.contains("`/mcp__s__p city state`"), "{missing}");
        let none = prompt(&[]);
        assert_eq!(none.arguments("").map(Value::Object), Ok(json!({})));
        assert!(none.arguments("x").is_err());
    }

    #[test]
    fn a_prompt_is_listed_with_its_arguments() {
        let command = prompt(&[("city", true), ("state", false)]).slash_command();
        assert_eq!((&*command.name, command.hint.as_deref()), ("mcp__s__p", Some("city [state]")));
        assert_eq!(prompt(&[]).slash_command().hint, None);
    }
}
