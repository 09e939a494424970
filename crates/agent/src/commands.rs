//! Slash commands: prompts that change the session instead of asking the model.

use crate::{Mode, PermissionMode};

/// A slash command, as clients list it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// What may follow it, if anything.
    pub hint: Option<&'static str>,
}

/// Every slash command.
pub fn commands() -> &'static [SlashCommand] {
    const fn command(name: &'static str, description: &'static str) -> SlashCommand {
        SlashCommand { name, description, hint: None }
    }
    const COMMANDS: &[SlashCommand] = &[
        command("guardian", "Permission mode Guardian: safe operations pass, risky ones ask"),
        command("argus", "Permission mode Argus: every change and command asks"),
        command("prometheus", "Permission mode Prometheus: nothing asks; hard denials still hold"),
        command("edit", "Mode Edit: full coding access"),
        command("plan", "Mode Plan: read-only planning"),
        command("ask", "Mode Ask: read-only questions and answers"),
        SlashCommand {
            name: "model",
            description: "Show the models, or change to one",
            hint: Some("provider/model"),
        },
        command("help", "What can be said here"),
    ];
    COMMANDS
}

/// What a slash command asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    PermissionMode(PermissionMode),
    Mode(Mode),
    Model(String),
    ListModels,
    Help,
}

/// The action of a prompt that is a slash command and nothing else.
pub(crate) fn parse(prompt: &str) -> Option<Action> {
    let mut words = prompt.trim().strip_prefix('/')?.split_whitespace();
    let name = words.next()?;
    let rest = words.next();
    if words.next().is_some() || (rest.is_some() && name != "model") {
        return None;
    }
    match (name, rest) {
        ("model", Some(id)) => Some(Action::Model(id.to_owned())),
        ("model", None) => Some(Action::ListModels),
        ("help", _) => Some(Action::Help),
        (name, _) => {
            name.parse().map(Action::PermissionMode).or_else(|_| name.parse().map(Action::Mode)).ok()
        }
    }
}

/// The answer to `/help`.
pub(crate) fn help() -> String {
    let mut text = String::from("Commands:\n\n");
    for command in commands() {
        let hint = command.hint.map(|hint| format!(" [{hint}]")).unwrap_or_default();
        text.push_str(&format!("- `/{}{hint}`: {}\n", command.name, command.description));
    }
    text.push_str("\nEverything else is said to the model.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_prompt_is_a_command() {
        for (prompt, expected) in [
            ("/argus", Some(Action::PermissionMode(PermissionMode::Argus))),
            (" /plan \n", Some(Action::Mode(Mode::Plan))),
            ("/model local/x", Some(Action::Model("local/x".to_owned()))),
            ("/model", Some(Action::ListModels)),
            ("/help", Some(Action::Help)),
            ("/argus please", None),
            ("/etc/hosts is what?", None),
            ("argus", None),
            ("/", None),
        ] {
            assert_eq!(parse(prompt), expected, "{prompt:?}");
        }
    }

    #[test]
    fn every_listed_command_is_understood() {
        for command in commands() {
            assert!(parse(&format!("/{}", command.name)).is_some(), "{}", command.name);
        }
    }
}
