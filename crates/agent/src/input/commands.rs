//! Slash commands: prompts that change the session instead of calling the model.

use crate::{Content, GoalChange, Mode, PermissionMode, RewindTarget, SlashCommand, goal, sources::Sources};
use std::borrow::Cow;

/// Returns the built-in slash commands and those of a session's sources; the first command keeps a
/// name.
pub(crate) fn all(sources: &Sources) -> Vec<SlashCommand> {
    let mut all = commands().to_vec();
    for command in sources.commands() {
        if !all.iter().any(|known| known.name == command.name) {
            all.push(command);
        }
    }
    all
}

/// Returns every built-in slash command.
pub fn commands() -> &'static [SlashCommand] {
    const fn command(name: &'static str, description: &'static str) -> SlashCommand {
        SlashCommand { name: Cow::Borrowed(name), description: Cow::Borrowed(description), hint: None }
    }
    const fn hinted(name: &'static str, description: &'static str, hint: &'static str) -> SlashCommand {
        let (name, description) = (Cow::Borrowed(name), Cow::Borrowed(description));
        SlashCommand { name, description, hint: Some(Cow::Borrowed(hint)) }
    }
    const COMMANDS: &[SlashCommand] = &[
        command("guardian", "Permission mode Guardian: safe operations run, risky ones need approval"),
        command("argus", "Permission mode Argus: every change and command needs approval"),
        command("prometheus", "Permission mode Prometheus: nothing needs approval; hard denials still hold"),
        command("edit", "Mode Edit: full coding access"),
        command("plan", "Mode Plan: read-only planning"),
        command("ask", "Mode Ask: read-only questions and answers"),
        hinted("model", "List the models, or switch to one", "provider/model"),
        hinted(
            "rewind",
            "List the turns that changed files, or undo the changes after one",
            "turn number, or redo",
        ),
        hinted("compact", "Summarise the conversation so far, to make room", "what to keep in any case"),
        command("context", "How full the model's context is"),
        hinted(
            "goal",
            "Set a goal and work on it until it is reached; show it, pause, resume or clear it",
            "text [--budget 200k], pause, resume or clear",
        ),
        hinted(
            "shells",
            "List the background commands, show the output of one, or stop it",
            "show ID, stop ID or stop all",
        ),
        hinted("tasks", "List the tasks, or remove all of them", "clear"),
        command("agents", "The subagents of this session, as a tree"),
        hinted("steer", "Send a message to the running turn, before its next request to the model", "text"),
        command("help", "List the commands"),
    ];
    COMMANDS
}

/// The action of a slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    PermissionMode(PermissionMode),
    Mode(Mode),
    Model(String),
    ListModels,
    ListCheckpoints,
    Rewind(RewindTarget),
    /// With the user's instructions on what to keep.
    Compact(Option<String>),
    Context,
    Goal(GoalCommand),
    ListShells,
    ShowShell(String),
    StopShell(String),
    ListTasks,
    ClearTasks,
    Agents,
    Help,
}

/// An action on the goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GoalCommand {
    Show,
    Change(GoalChange),
    /// The command is invalid, with the reason.
    Invalid(String),
}

impl Action {
    /// Whether the command is a prompt for the model at the same time.
    pub(crate) fn asks_model(&self) -> bool {
        use GoalChange::{Resume, Set};
        matches!(self, Self::Goal(GoalCommand::Change(Set { .. } | Resume { .. })))
    }
}

/// Returns the change of the goal, if a prompt is a command that also takes effect while a turn
/// runs.
pub(crate) fn goal_interruption(content: &[Content]) -> Option<GoalChange> {
    match of(content)? {
        Action::Goal(GoalCommand::Change(change @ (GoalChange::Pause | GoalChange::Clear))) => Some(change),
        _ => None,
    }
}

/// Returns the action of a prompt that only consists of a slash command.
pub(crate) fn of(content: &[Content]) -> Option<Action> {
    match content {
        [Content::Text(text)] => parse(text),
        _ => None,
    }
}

/// Like [`of`], for the text of a prompt.
pub(crate) fn parse(prompt: &str) -> Option<Action> {
    if let Some(("compact", focus)) = named(prompt) {
        return Some(Action::Compact((!focus.is_empty()).then(|| focus.to_owned())));
    }
    if let Some(("goal", arguments)) = named(prompt) {
        return Some(Action::Goal(goal_command(arguments)));
    }
    if let Some(("shells", arguments)) = named(prompt) {
        return match arguments.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => Some(Action::ListShells),
            ["show", id] => Some(Action::ShowShell((*id).to_owned())),
            ["stop", id] => Some(Action::StopShell((*id).to_owned())),
            _ => None,
        };
    }
    let mut words = prompt.trim().strip_prefix('/')?.split_whitespace();
    let name = words.next()?;
    let rest = words.next();
    if words.next().is_some() || (rest.is_some() && !matches!(name, "model" | "rewind" | "tasks")) {
        return None;
    }
    match (name, rest) {
        ("model", Some(id)) => Some(Action::Model(id.to_owned())),
        ("model", None) => Some(Action::ListModels),
        ("rewind", Some(target)) => target.parse().map(Action::Rewind).ok(),
        ("rewind", None) => Some(Action::ListCheckpoints),
        ("context", _) => Some(Action::Context),
        ("tasks", None) => Some(Action::ListTasks),
        ("tasks", Some("clear")) | ("tasks-clear", None) => Some(Action::ClearTasks),
        ("agents", _) => Some(Action::Agents),
        ("help", _) => Some(Action::Help),
        (name, _) => {
            name.parse().map(Action::PermissionMode).or_else(|_| name.parse().map(Action::Mode)).ok()
        }
    }
}

/// Parses what follows `/goal`: nothing, a word, or an objective; `--budget N` may stand at its
/// beginning or end.
fn goal_command(arguments: &str) -> GoalCommand {
    const FLAG: &str = "--budget";
    let (text, budget) = match arguments.strip_prefix(FLAG) {
        Some(rest) if rest.starts_with(char::is_whitespace) => {
            let (budget, text) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
            (text.trim(), Some(budget))
        }
        _ => match arguments.rsplit_once(char::is_whitespace) {
            Some((text, budget)) if text.trim_end().ends_with(&format!(" {FLAG}")) => {
                (text.trim_end()[..text.trim_end().len() - FLAG.len()].trim(), Some(budget))
            }
            _ => (arguments, None),
        },
    };
    let token_budget = match budget.map(|given| goal::parse_budget(given).ok_or(given)).transpose() {
        Ok(budget) => budget,
        Err(given) => {
            return GoalCommand::Invalid(format!("{given:?} is no token budget; write 200000 or 200k"));
        }
    };
    match (text, token_budget) {
        ("", None) => GoalCommand::Show,
        ("pause", None) => GoalCommand::Change(GoalChange::Pause),
        ("clear", None) => GoalCommand::Change(GoalChange::Clear),
        ("resume", token_budget) => GoalCommand::Change(GoalChange::Resume { token_budget }),
        ("", Some(_)) => GoalCommand::Invalid("the objective is missing; write /goal TEXT".to_owned()),
        (text, token_budget) => {
            GoalCommand::Change(GoalChange::Set { objective: text.to_owned(), token_budget })
        }
    }
}

/// Returns the text for the running turn, if a prompt is only a `/steer` command.
pub(crate) fn steering(prompt: &str) -> Option<&str> {
    let rest = prompt.trim_start().strip_prefix("/steer")?;
    let text = rest.trim();
    (rest.starts_with(char::is_whitespace) && !text.is_empty()).then_some(text)
}

/// Splits a prompt that begins like a slash command into its name and the rest.
pub(crate) fn named(prompt: &str) -> Option<(&str, &str)> {
    let rest = prompt.trim_start().strip_prefix('/')?;
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (name, arguments) = rest.split_at(end);
    (!name.is_empty()).then(|| (name, arguments.trim()))
}

/// Returns the command closest to an unknown name, within one or two typing errors.
pub(crate) fn nearest(given: &str, commands: &[SlashCommand]) -> Option<String> {
    if !given.starts_with(|first: char| first.is_ascii_alphabetic())
        || commands.iter().any(|known| known.name == given)
    {
        return None;
    }
    let given = given.to_ascii_lowercase();
    let distance = |known: &SlashCommand| strsim::damerau_levenshtein(&known.name, &given);
    let nearest = commands.iter().min_by_key(|known| distance(known))?;
    // Short words are close to everything: `/usr` must not suggest `/ask`.
    let most = if given.len() < 5 { 1 } else { 2 };
    (distance(nearest) <= most).then(|| nearest.name.to_string())
}

/// Returns the answer to `/help`.
pub(crate) fn help(commands: &[SlashCommand]) -> String {
    let mut text = String::from("Commands:\n\n");
    for command in commands {
        let hint = command.hint.as_ref().map(|hint| format!(" [{hint}]")).unwrap_or_default();
        text.push_str(&format!("- `/{}{hint}`: {}\n", command.name, command.description));
    }
    text.push_str("\nEverything else is sent to the model.\n");
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
            ("/compact", Some(Action::Compact(None))),
            ("/compact  the tests \n", Some(Action::Compact(Some("the tests".to_owned())))),
            ("/compacted", None),
            ("/context", Some(Action::Context)),
            ("/context now", None),
            ("/tasks", Some(Action::ListTasks)),
            ("/tasks clear", Some(Action::ClearTasks)),
            ("/tasks-clear", Some(Action::ClearTasks)),
            ("/tasks please", None),
            ("/shells", Some(Action::ListShells)),
            ("/shells show sh_1", Some(Action::ShowShell("sh_1".to_owned()))),
            ("/shells stop all", Some(Action::StopShell("all".to_owned()))),
            ("/shells stop", None),
            ("/argus please", None),
            ("/etc/hosts is what?", None),
            ("argus", None),
            ("/", None),
        ] {
            assert_eq!(parse(prompt), expected, "{prompt:?}");
        }
    }

    #[test]
    fn a_goal_has_an_objective_and_perhaps_a_budget() {
        let set = |objective: &str, token_budget| {
            GoalCommand::Change(GoalChange::Set { objective: objective.to_owned(), token_budget })
        };
        let resume = |token_budget| GoalCommand::Change(GoalChange::Resume { token_budget });
        for (prompt, expected) in [
            ("/goal", GoalCommand::Show),
            ("/goal pause", GoalCommand::Change(GoalChange::Pause)),
            ("/goal clear ", GoalCommand::Change(GoalChange::Clear)),
            ("/goal resume", resume(None)),
            ("/goal resume --budget 1m", resume(Some(1_000_000))),
            ("/goal fix\nthe tests --budget 200k", set("fix\nthe tests", Some(200_000))),
            ("/goal --budget 5 fix it", set("fix it", Some(5))),
            ("/goal say --budgets to all", set("say --budgets to all", None)),
            (
                "/goal fix --budget x",
                GoalCommand::Invalid("\"x\" is no token budget; write 200000 or 200k".to_owned()),
            ),
            (
                "/goal --budget 5",
                GoalCommand::Invalid("the objective is missing; write /goal TEXT".to_owned()),
            ),
        ] {
            assert_eq!(parse(prompt), Some(Action::Goal(expected)), "{prompt:?}");
        }
        let interrupts = |prompt: &str| goal_interruption(&[Content::text(prompt)]);
        assert_eq!(interrupts("/goal pause"), Some(GoalChange::Pause));
        assert_eq!((interrupts("/goal resume"), interrupts("/goals")), (None, None));
    }

    #[test]
    fn a_typing_mistake_in_a_command_is_recognised_and_a_path_is_not() {
        for (given, meant) in [
            ("compct", Some("compact")),
            ("Plan", Some("plan")),
            ("modle", Some("model")),
            ("plan", None),
            ("etc/hosts", None),
            ("usr", None),
            ("tmp", None),
            ("/TODO", None),
            ("*", None),
            ("home", None),
            ("var", None),
            ("bin", None),
            ("opt", None),
        ] {
            assert_eq!(nearest(given, commands()).as_deref(), meant, "{given}");
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
