//! Slash commands: prompts that change the session instead of calling the model.

use crate::{
    CommandGroup, Content, GoalChange, MemoryId, Mode, PermissionMode, RewindTarget, SlashCommand, goal,
    input::review, sources::Sources,
};
use std::{borrow::Cow, fmt::Write as _};

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
        let (name, description) = (Cow::Borrowed(name), Cow::Borrowed(description));
        SlashCommand { name, description, hint: None, group: CommandGroup::BuiltIn }
    }
    const fn hinted(name: &'static str, description: &'static str, hint: &'static str) -> SlashCommand {
        let (name, description) = (Cow::Borrowed(name), Cow::Borrowed(description));
        SlashCommand { name, description, hint: Some(Cow::Borrowed(hint)), group: CommandGroup::BuiltIn }
    }
    const COMMANDS: &[SlashCommand] = &[
        command("guardian", "Permission mode Guardian: safe operations run, risky ones need approval"),
        command("argus", "Permission mode Argus: every change and command needs approval"),
        command("prometheus", "Permission mode Prometheus: nothing needs approval; hard denials still hold"),
        command("edit", "Mode Edit: full coding access"),
        command("plan", "Mode Plan: read-only planning"),
        command("ask", "Mode Ask: read-only questions and answers"),
        hinted("model", "List the models, or switch to one", "provider/model"),
        command("models", "List the models"),
        hinted(
            "rewind",
            "List the turns that changed files, or undo the changes after one",
            "turn number, or redo",
        ),
        hinted("compact", "Summarise the conversation so far, to make room", "what to keep in any case"),
        hinted("memories", "List the memories of this project and yours, or search them", "words"),
        hinted("forget", "Delete a memory", "#number"),
        command("context", "How full the model's context is"),
        command("usage", "Tokens and cost of this session, by model"),
        hinted("sessions", "List the sessions of this directory, or search them", "words"),
        hinted("rename", "Change the title of this session", "title"),
        command("skills", "List the skills, with their place and whether they are trusted"),
        hinted(
            review::NAME,
            "Review the uncommitted changes, or others; changes nothing",
            "commit, range, branch or files",
        ),
        hinted(
            "goal",
            "Set a goal and work on it until it is reached; show it, pause, resume or clear it",
            "text [--budget 200k], pause, resume or clear",
        ),
        hinted("run", "Run a command yourself; the model gets its output with the next prompt", "command"),
        hinted(
            "shells",
            "List the background commands, show the output of one, or stop it",
            "show ID, stop ID or stop all",
        ),
        hinted("tasks", "List the tasks, or remove all of them", "clear"),
        command("agents", "The subagents of this session, as a tree"),
        hinted("steer", "Send a message to the running turn, before its next request to the model", "text"),
        command("retry", "Ask the model again after a turn that failed"),
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
    Usage,
    /// With the words to search for; empty to list.
    Sessions(String),
    /// With the new title; may be empty.
    Rename(String),
    /// With the command line.
    Run(String),
    Skills,
    /// With the words to search for.
    ListMemories(String),
    /// With the memory, if one was named.
    Forget(Option<MemoryId>),
    Goal(GoalCommand),
    ListShells,
    ShowShell(String),
    StopShell(String),
    ListTasks,
    ClearTasks,
    Agents,
    /// Asks again what the last turn left unanswered, if it failed.
    Retry,
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

/// Returns the command line of a prompt that runs one for the user, as `/run` does.
pub fn own_command(content: &[Content]) -> Option<String> {
    match of(content)? {
        Action::Run(line) => Some(line),
        _ => None,
    }
}

/// Like [`of`], for the text of a prompt.
pub(crate) fn parse(prompt: &str) -> Option<Action> {
    let (name, rest) = named(prompt)?;
    let one_word = !rest.contains(char::is_whitespace);
    Some(match (name, rest) {
        ("compact", focus) => Action::Compact((!focus.is_empty()).then(|| focus.to_owned())),
        ("sessions", words) => Action::Sessions(words.to_owned()),
        ("rename", title) => Action::Rename(title.to_owned()),
        ("memories", words) => Action::ListMemories(words.to_owned()),
        ("run", line) if !line.is_empty() => Action::Run(line.to_owned()),
        ("forget", "") => Action::Forget(None),
        ("forget", id) => Action::Forget(Some(id.parse().ok()?)),
        ("model" | "models", "") => Action::ListModels,
        ("model", id) if one_word => Action::Model(id.to_owned()),
        ("rewind", "") => Action::ListCheckpoints,
        ("rewind", target) => Action::Rewind(target.parse().ok()?),
        ("goal", arguments) => Action::Goal(goal_command(arguments)),
        ("shells", arguments) => match arguments.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => Action::ListShells,
            ["show", id] => Action::ShowShell((*id).to_owned()),
            ["stop", id] => Action::StopShell((*id).to_owned()),
            _ => return None,
        },
        ("tasks", "") => Action::ListTasks,
        ("tasks", "clear") | ("tasks-clear", "") => Action::ClearTasks,
        ("context", "") => Action::Context,
        ("usage", "") => Action::Usage,
        ("skills", "") => Action::Skills,
        ("agents", "") => Action::Agents,
        ("retry", "") => Action::Retry,
        ("help", "") => Action::Help,
        (name, "") => {
            let permission_mode = name.parse().map(Action::PermissionMode);
            permission_mode.or_else(|_| name.parse().map(Action::Mode)).ok()?
        }
        _ => return None,
    })
}

/// Returns the prompt that a built-in command stands for. Such a command is answered by the model.
pub(crate) fn prompt(name: &str, arguments: &str) -> Option<Content> {
    (name == review::NAME).then(|| review::prompt(arguments))
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

/// Returns the command closest to an unknown name.
pub(crate) fn nearest(given: &str, commands: &[SlashCommand]) -> Option<String> {
    if !given.starts_with(|first: char| first.is_ascii_alphabetic())
        || commands.iter().any(|known| known.name == given)
    {
        return None;
    }
    crate::text::similar::closest(given, commands, |known| &known.name).map(|known| known.name.to_string())
}

/// Returns the answer to `/help`: the commands by group, those of files with their place.
pub(crate) fn help(commands: &[SlashCommand]) -> String {
    let mut text = String::new();
    let mut section = |title: &str, is_in: fn(&CommandGroup) -> bool| {
        let those: Vec<_> = commands.iter().filter(|command| is_in(&command.group)).collect();
        if !those.is_empty() {
            let _ = writeln!(text, "{title}:\n");
            those.iter().for_each(|command| text.push_str(&help_line(command)));
            text.push('\n');
        }
    };
    section("Commands", |group| matches!(group, CommandGroup::BuiltIn));
    section("Skills", |group| matches!(group, CommandGroup::Skill(_)));
    section("Commands from files", |group| matches!(group, CommandGroup::File(_)));
    section("Prompts of MCP servers", |group| matches!(group, CommandGroup::Server));
    text.push_str("Everything else is sent to the model.\n");
    text
}

fn help_line(command: &SlashCommand) -> String {
    let SlashCommand { name, description, hint, group } = command;
    let hint = hint.as_ref().map(|hint| format!(" [{hint}]")).unwrap_or_default();
    let place = match group {
        CommandGroup::Skill(place) | CommandGroup::File(place) => format!(" (`{place}`)"),
        CommandGroup::BuiltIn | CommandGroup::Server => String::new(),
    };
    format!("- `/{name}{hint}`: {description}{place}\n")
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
            ("/models", Some(Action::ListModels)),
            ("/models x", None),
            ("/model a b", None),
            ("/usage", Some(Action::Usage)),
            ("/usage of disk space", None),
            ("/sessions", Some(Action::Sessions(String::new()))),
            ("/sessions parser  bug", Some(Action::Sessions("parser  bug".to_owned()))),
            ("/rename  Two words\n", Some(Action::Rename("Two words".to_owned()))),
            ("/rename", Some(Action::Rename(String::new()))),
            ("/skills", Some(Action::Skills)),
            ("/review", None),
            ("/retry", Some(Action::Retry)),
            ("/retry it", None),
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
            let name = command.name.as_ref();
            let understood = parse(&format!("/{name}")).is_some() || prompt(name, "").is_some();
            // These two do nothing without a text.
            assert!(understood || ["run", "steer"].contains(&name), "{name}");
        }
    }

    #[test]
    fn help_groups_the_commands_by_where_they_come_from() {
        let command = |name: &'static str, group| SlashCommand {
            name: name.into(),
            description: "Does it".into(),
            hint: Some("what".into()),
            group,
        };
        let text = help(&[
            command("plan", CommandGroup::BuiltIn),
            command("mcp__a__b", CommandGroup::Server),
            command("pdf", CommandGroup::Skill("/home/me/.agents/skills/pdf".to_owned())),
        ]);
        let expected = "Commands:\n\n- `/plan [what]`: Does it\n\n\
             Skills:\n\n- `/pdf [what]`: Does it (`/home/me/.agents/skills/pdf`)\n\n\
             Prompts of MCP servers:\n\n- `/mcp__a__b [what]`: Does it\n\n\
             Everything else is sent to the model.\n";
        assert_eq!(text, expected);
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
