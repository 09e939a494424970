//! Slash commands: prompts that change the session instead of asking the model.

use crate::{Mode, PermissionMode, RewindTarget};

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
        SlashCommand {
            name: "rewind",
            description: "Show the turns that changed files, or take back what was changed after one",
            hint: Some("turn number, or redo"),
        },
        SlashCommand {
            name: "steer",
            description: "Tell the running turn something before the model is asked again",
            hint: Some("text"),
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
    ListCheckpoints,
    Rewind(RewindTarget),
    Help,
}

/// The action of a prompt that is a slash command and nothing else.
pub(crate) fn parse(prompt: &str) -> Option<Action> {
    let mut words = prompt.trim().strip_prefix('/')?.split_whitespace();
    let name = words.next()?;
    let rest = words.next();
    if words.next().is_some() || (rest.is_some() && !matches!(name, "model" | "rewind")) {
        return None;
    }
    match (name, rest) {
        ("model", Some(id)) => Some(Action::Model(id.to_owned())),
        ("model", None) => Some(Action::ListModels),
        ("rewind", Some(target)) => target.parse().map(Action::Rewind).ok(),
        ("rewind", None) => Some(Action::ListCheckpoints),
        ("help", _) => Some(Action::Help),
        (name, _) => {
            name.parse().map(Action::PermissionMode).or_else(|_| name.parse().map(Action::Mode)).ok()
        }
    }
}

/// What is to be said to the running turn, when a prompt is that and nothing else.
pub(crate) fn steering(prompt: &str) -> Option<&str> {
    let rest = prompt.trim_start().strip_prefix("/steer")?;
    let text = rest.trim();
    (rest.starts_with(char::is_whitespace) && !text.is_empty()).then_some(text)
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
            ("/rewind", Some(Action::ListCheckpoints)),
            ("/rewind 3", Some(Action::Rewind(RewindTarget::Turn(3)))),
            ("/rewind run_3", Some(Action::Rewind(RewindTarget::Turn(3)))),
            ("/rewind redo", Some(Action::Rewind(RewindTarget::Redo))),
            ("/rewind everything", None),
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
            let understood = parse(&format!("/{}", command.name)).is_some() || command.name == "steer";
            assert!(understood, "{}", command.name);
        }
    }

    #[test]
    fn steering_needs_a_text() {
        for (prompt, text) in [
            ("/steer use tabs", Some("use tabs")),
            (" /steer\n use\ntabs \n", Some("use\ntabs")),
            ("/steer", None),
            ("/steer ", None),
            ("/steering", None),
            ("do /steer x", None),
        ] {
            assert_eq!(steering(prompt), text, "{prompt:?}");
        }
    }
}
