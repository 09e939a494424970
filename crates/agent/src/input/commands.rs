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
        command("network", "The hosts that commands of this session connected to, and those refused"),
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
    /// A switch of the permission mode, and whether the rest of the prompt goes to the model.
    PermissionMode(PermissionMode, Rest),
    /// A switch of the mode.
    Mode(Mode, Rest),
    Model(String),
    ListModels,
    ListCheckpoints,
    Rewind(RewindTarget),
    /// With the user's instructions on what to keep.
    Compact(Option<String>),
    Context,
    Usage,
    Network,
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
    /// The command does not take what follows its name. The value says what it takes.
    Invalid(String),
}

/// What follows a command that switches a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing.
    None,
    /// A prompt for the model.
    Prompt,
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
        matches!(
            self,
            Self::Goal(GoalCommand::Change(Set { .. } | Resume { .. }))
                | Self::Mode(_, Rest::Prompt)
                | Self::PermissionMode(_, Rest::Prompt)
        )
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

/// A prompt that begins with a slash and a word.
pub(crate) struct Named<'a> {
    content: &'a [Content],
    /// The word.
    pub(crate) name: &'a str,
    /// The text behind it. A mention in the text stands in it as `@` and its name.
    pub(crate) arguments: String,
    /// The index of the part with the word, and the length of that part up to the text behind it.
    part: usize,
    length: usize,
    /// Whether the prompt also has mentions, images or other contents.
    has_more: bool,
}

impl<'a> Named<'a> {
    /// Splits a prompt; `None` if its first text does not begin with a slash and a word. Mentions
    /// and images may stand before that text.
    pub(crate) fn of(content: &'a [Content]) -> Option<Self> {
        let text_of = |item: &'a Content| match item {
            Content::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        };
        let (part, text) = content.iter().enumerate().find_map(|(at, item)| Some((at, text_of(item)?)))?;
        let begins = text.trim_start().strip_prefix('/')?;
        let end = begins.find(char::is_whitespace).unwrap_or(begins.len());
        let (name, rest) = begins.split_at(end);
        let mut arguments = rest.to_owned();
        for item in &content[part + 1..] {
            match item {
                Content::Text(text) => arguments.push_str(text),
                Content::ResourceLink { name, .. } => arguments.push_str(&format!("@{name}")),
                Content::Resource { uri, .. } => {
                    arguments.push_str(&format!("@{}", uri.rsplit('/').next().unwrap_or(uri)));
                }
                Content::Image { .. } => {}
            }
        }
        let length = text.len() - rest.trim_start().len();
        let arguments = arguments.trim().to_owned();
        let has_more = content.iter().any(|item| !matches!(item, Content::Text(_)));
        (!name.is_empty()).then_some(Self { content, name, arguments, part, length, has_more })
    }

    /// Returns the action of the command; `None` if there is no built-in one of this name.
    fn action(&self) -> Option<Action> {
        parse(self.name, &self.arguments, self.has_more)
    }

    /// Returns the prompt without the slash and the word.
    fn rest(&self) -> Vec<Content> {
        let mut content = self.content.to_vec();
        let is_last = self.part + 1 == content.len();
        if let Content::Text(text) = &mut content[self.part] {
            text.drain(..self.length);
            if is_last {
                text.truncate(text.trim_end().len());
            }
            if text.is_empty() {
                content.remove(self.part);
            }
        }
        content
    }
}

/// Returns the action of a prompt that is a slash command.
pub(crate) fn of(content: &[Content]) -> Option<Action> {
    Named::of(content)?.action()
}

/// Returns a prompt as the model is sent it: without a command at its beginning that switches a
/// mode.
pub(crate) fn for_model(content: &[Content]) -> Cow<'_, [Content]> {
    let switches_mode = |named: &Named<'_>| {
        let action = named.action();
        matches!(action, Some(Action::Mode(_, Rest::Prompt) | Action::PermissionMode(_, Rest::Prompt)))
    };
    match Named::of(content).filter(switches_mode) {
        Some(named) => Cow::Owned(named.rest()),
        None => Cow::Borrowed(content),
    }
}

/// Returns the command line of a prompt that runs one for the user, as `/run` does.
pub fn own_command(content: &[Content]) -> Option<String> {
    match of(content)? {
        Action::Run(line) => Some(line),
        _ => None,
    }
}

/// Parses a command. `has_more` says whether mentions or images accompany it.
fn parse(name: &str, arguments: &str, has_more: bool) -> Option<Action> {
    let one_word = !arguments.contains(char::is_whitespace);
    let action = match (name, arguments) {
        ("compact", focus) => Some(Action::Compact((!focus.is_empty()).then(|| focus.to_owned()))),
        ("sessions", words) => Some(Action::Sessions(words.to_owned())),
        ("rename", title) => Some(Action::Rename(title.to_owned())),
        ("memories", words) => Some(Action::ListMemories(words.to_owned())),
        ("run", line) if !line.is_empty() => Some(Action::Run(line.to_owned())),
        ("forget", "") => Some(Action::Forget(None)),
        ("forget", id) => id.parse().ok().map(|id| Action::Forget(Some(id))),
        ("model" | "models", "") => Some(Action::ListModels),
        ("model", id) if one_word => Some(Action::Model(id.to_owned())),
        ("rewind", "") => Some(Action::ListCheckpoints),
        ("rewind", target) => target.parse().ok().map(Action::Rewind),
        ("goal", arguments) => Some(Action::Goal(goal_command(arguments))),
        ("shells", arguments) => match arguments.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => Some(Action::ListShells),
            ["show", id] => Some(Action::ShowShell((*id).to_owned())),
            ["stop", id] => Some(Action::StopShell((*id).to_owned())),
            _ => None,
        },
        ("tasks", "") => Some(Action::ListTasks),
        ("tasks", "clear") | ("tasks-clear", "") => Some(Action::ClearTasks),
        ("context", "") => Some(Action::Context),
        ("usage", "") => Some(Action::Usage),
        ("network", "") => Some(Action::Network),
        ("skills", "") => Some(Action::Skills),
        ("agents", "") => Some(Action::Agents),
        ("retry", "") => Some(Action::Retry),
        ("help", "") => Some(Action::Help),
        (name, arguments) => {
            let rest = if arguments.is_empty() && !has_more { Rest::None } else { Rest::Prompt };
            let permission_mode = name.parse().map(|mode| Action::PermissionMode(mode, rest));
            permission_mode.or_else(|_| name.parse().map(|mode| Action::Mode(mode, rest))).ok()
        }
    };
    action.or_else(|| invalid(name))
}

/// Returns the action of a built-in command that does not take what was written behind it.
fn invalid(name: &str) -> Option<Action> {
    let known = commands().iter().find(|known| known.name == name && known.name != review::NAME)?;
    Some(Action::Invalid(match &known.hint {
        Some(hint) => format!("/{name} takes: {hint}"),
        None => format!("/{name} takes no text"),
    }))
}

/// Returns the prompt that a built-in command stands for. Such a command is answered by the model.
pub(crate) fn prompt(name: &str, arguments: &str) -> Option<Content> {
    (name == review::NAME).then(|| review::prompt(arguments))
}

/// Parses what follows `/goal`: nothing, a word, or an objective; `--budget N` or `--budget=N` may
/// stand at its beginning or end.
fn goal_command(arguments: &str) -> GoalCommand {
    let invalid = |why: &str| GoalCommand::Invalid(why.to_owned());
    let (text, budget) = match budget_of(arguments) {
        (_, Some("")) => return invalid("--budget needs a number of tokens, such as --budget 200k"),
        (text, budget) => (text, budget),
    };
    let token_budget = match budget.map(|given| goal::parse_budget(given).ok_or(given)).transpose() {
        Ok(budget) => budget,
        Err(given) => return invalid(&format!("{given:?} is no token budget; write 200000 or 200k")),
    };
    match (text, token_budget) {
        ("", None) => GoalCommand::Show,
        ("pause", None) => GoalCommand::Change(GoalChange::Pause),
        ("clear", None) => GoalCommand::Change(GoalChange::Clear),
        ("pause" | "clear", Some(_)) => invalid(&format!("/goal {text} takes no budget")),
        ("resume", token_budget) => GoalCommand::Change(GoalChange::Resume { token_budget }),
        ("", Some(_)) => invalid("the objective is missing; write /goal TEXT"),
        (text, token_budget) => {
            GoalCommand::Change(GoalChange::Set { objective: text.to_owned(), token_budget })
        }
    }
}

/// Splits the arguments of `/goal` into the objective and the budget as it was written, which is
/// empty if only the flag was.
fn budget_of(arguments: &str) -> (&str, Option<&str>) {
    const FLAG: &str = "--budget";
    let value = |word: &'_ str| word.strip_prefix(FLAG).and_then(|rest| rest.strip_prefix('=')).map(str::len);
    let (first, behind) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    let (before, last) = arguments.rsplit_once(char::is_whitespace).unwrap_or(("", arguments));
    if first == FLAG {
        let (budget, text) = behind.trim().split_once(char::is_whitespace).unwrap_or((behind.trim(), ""));
        (text.trim(), Some(budget))
    } else if let Some(length) = value(first) {
        (behind.trim(), Some(&first[first.len() - length..]))
    } else if last == FLAG {
        (before.trim(), Some(""))
    } else if let Some(length) = value(last) {
        (before.trim(), Some(&last[last.len() - length..]))
    } else {
        match before.trim_end().rsplit_once(char::is_whitespace) {
            Some((text, FLAG)) => (text.trim(), Some(last)),
            _ => (arguments, None),
        }
    }
}

/// Returns the message for the running turn, if a prompt is a `/steer` command with one.
pub(crate) fn steering(content: &[Content]) -> Option<Vec<Content>> {
    let named = Named::of(content)?;
    if named.name != "steer" || (named.arguments.is_empty() && !named.has_more) {
        return None;
    }
    Some(named.rest())
}

/// Returns the error for a prompt that begins with the name of a command that does not exist. A
/// path is no name, and a blank before the slash says that the prompt is meant as it is.
pub fn unknown_command(prompt: &str, known: &[SlashCommand]) -> Option<String> {
    let name = prompt.strip_prefix('/')?.split_whitespace().next()?;
    if !is_name(name) || known.iter().any(|command| command.name == name) {
        return None;
    }
    let hint = match (nearest(name, known), prompt.trim_end().contains(char::is_whitespace)) {
        (Some(nearest), _) => format!("did you mean /{nearest}?"),
        (None, false) => "/help lists the commands".to_owned(),
        (None, true) => "/help lists the commands; a blank before it sends it as it is".to_owned(),
    };
    Some(format!("there is no command /{name}; {hint}"))
}

/// Returns whether a word behind a slash looks like the name of a command, and not like a path.
fn is_name(word: &str) -> bool {
    let of_names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(of_names)
        && !ROOT_DIRECTORIES.contains(&word)
}

/// Directories of `/` that a message may begin with.
const ROOT_DIRECTORIES: [&str; 28] = [
    "Applications",
    "Library",
    "System",
    "Users",
    "Volumes",
    "bin",
    "boot",
    "data",
    "dev",
    "etc",
    "home",
    "lib",
    "lib64",
    "media",
    "mnt",
    "nix",
    "opt",
    "private",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var",
    "workspace",
];

/// Returns the command closest to an unknown name.
fn nearest<'a>(given: &str, commands: &'a [SlashCommand]) -> Option<&'a str> {
    crate::text::similar::closest(given, commands, |known| &known.name).map(|known| known.name.as_ref())
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

    fn text(prompt: &str) -> Option<Action> {
        of(&[Content::text(prompt)])
    }

    #[test]
    fn a_prompt_that_begins_with_a_command_is_one() {
        let invalid = |why: &str| Some(Action::Invalid(why.to_owned()));
        for (prompt, expected) in [
            ("/argus", Some(Action::PermissionMode(PermissionMode::Argus, Rest::None))),
            ("/argus please", Some(Action::PermissionMode(PermissionMode::Argus, Rest::Prompt))),
            (" /plan \n", Some(Action::Mode(Mode::Plan, Rest::None))),
            ("/plan\nhow?", Some(Action::Mode(Mode::Plan, Rest::Prompt))),
            ("/model local/x", Some(Action::Model("local/x".to_owned()))),
            ("/model", Some(Action::ListModels)),
            ("/help", Some(Action::Help)),
            ("/rewind", Some(Action::ListCheckpoints)),
            ("/rewind 3", Some(Action::Rewind(RewindTarget::Turn(3)))),
            ("/rewind run_3", Some(Action::Rewind(RewindTarget::Turn(3)))),
            ("/rewind redo", Some(Action::Rewind(RewindTarget::Redo))),
            ("/rewind everything", invalid("/rewind takes: turn number, or redo")),
            ("/compact", Some(Action::Compact(None))),
            ("/compact  the tests \n", Some(Action::Compact(Some("the tests".to_owned())))),
            ("/compacted", None),
            ("/context", Some(Action::Context)),
            ("/context now", invalid("/context takes no text")),
            ("/models", Some(Action::ListModels)),
            ("/models x", invalid("/models takes no text")),
            ("/model a b", invalid("/model takes: provider/model")),
            ("/usage", Some(Action::Usage)),
            ("/network", Some(Action::Network)),
            ("/usage of disk space", invalid("/usage takes no text")),
            ("/sessions", Some(Action::Sessions(String::new()))),
            ("/sessions parser  bug", Some(Action::Sessions("parser  bug".to_owned()))),
            ("/rename  Two words\n", Some(Action::Rename("Two words".to_owned()))),
            ("/rename", Some(Action::Rename(String::new()))),
            ("/skills", Some(Action::Skills)),
            ("/review", None),
            ("/retry", Some(Action::Retry)),
            ("/retry it", invalid("/retry takes no text")),
            ("/run", invalid("/run takes: command")),
            ("/steer", invalid("/steer takes: text")),
            ("/tasks", Some(Action::ListTasks)),
            ("/tasks clear", Some(Action::ClearTasks)),
            ("/tasks-clear", Some(Action::ClearTasks)),
            ("/tasks please", invalid("/tasks takes: clear")),
            ("/shells", Some(Action::ListShells)),
            ("/shells show sh_1", Some(Action::ShowShell("sh_1".to_owned()))),
            ("/shells stop all", Some(Action::StopShell("all".to_owned()))),
            ("/shells stop", invalid("/shells takes: show ID, stop ID or stop all")),
            ("/etc/hosts is what?", None),
            ("argus", None),
            ("/", None),
        ] {
            assert_eq!(text(prompt), expected, "{prompt:?}");
        }
    }

    #[test]
    fn mentions_stand_before_a_command_and_in_it() {
        let link =
            |name: &str| Content::ResourceLink { uri: format!("file:///w/{name}"), name: name.to_owned() };
        let image = Content::Image { mime_type: "image/png".to_owned(), data: String::new() };
        let (a, b) = (link("a.rs"), link("b.rs"));
        let compact = |focus: &str| Some(Action::Compact(Some(focus.to_owned())));
        let plan = Some(Action::Mode(Mode::Plan, Rest::Prompt));
        let say = Content::text;
        for (content, expected, sent) in [
            (vec![a.clone(), say(" /usage")], Some(Action::Usage), None),
            (
                vec![say("/compact the names in "), a.clone(), say(" too")],
                compact("the names in @a.rs too"),
                None,
            ),
            (vec![say("/plan "), a.clone()], plan.clone(), Some(vec![a.clone()])),
            (vec![image.clone(), say("/plan")], plan.clone(), Some(vec![image.clone()])),
            (
                vec![a.clone(), say(" /plan move it to "), b.clone(), say(" please")],
                plan.clone(),
                Some(vec![a.clone(), say("move it to "), b.clone(), say(" please")]),
            ),
            (vec![say("see "), a.clone(), say(" /plan")], None, None),
        ] {
            assert_eq!(of(&content), expected, "{content:?}");
            assert_eq!(for_model(&content).into_owned(), sent.unwrap_or_else(|| content.clone()));
        }
        let steered = steering(&[a.clone(), say("/steer use "), b.clone()]);
        assert_eq!(steered, Some(vec![a, say("use "), b]));
    }

    #[test]
    fn a_goal_has_an_objective_and_perhaps_a_budget() {
        const MISSING: &str = "--budget needs a number of tokens, such as --budget 200k";
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
            ("/goal fix it --budget=200k", set("fix it", Some(200_000))),
            ("/goal --budget=5 fix it", set("fix it", Some(5))),
            ("/goal fix --budget", GoalCommand::Invalid(MISSING.to_owned())),
            ("/goal --budget", GoalCommand::Invalid(MISSING.to_owned())),
            ("/goal fix --budget=", GoalCommand::Invalid(MISSING.to_owned())),
            ("/goal pause --budget 5", GoalCommand::Invalid("/goal pause takes no budget".to_owned())),
            (
                "/goal --budget 5",
                GoalCommand::Invalid("the objective is missing; write /goal TEXT".to_owned()),
            ),
        ] {
            assert_eq!(text(prompt), Some(Action::Goal(expected)), "{prompt:?}");
        }
        let interrupts = |prompt: &str| goal_interruption(&[Content::text(prompt)]);
        assert_eq!(interrupts("/goal pause"), Some(GoalChange::Pause));
        assert_eq!((interrupts("/goal resume"), interrupts("/goals")), (None, None));
    }

    #[test]
    fn an_unknown_command_is_recognised_and_a_path_is_not() {
        let meant = |name: &str, nearest: &str| {
            Some(format!("there is no command /{name}; did you mean /{nearest}?"))
        };
        let no = |name: &str, hint: &str| {
            Some(format!("there is no command /{name}; /help lists the commands{hint}"))
        };
        for (prompt, expected) in [
            ("/compct", meant("compct", "compact")),
            ("/Plan how?", meant("Plan", "plan")),
            ("/modle x", meant("modle", "model")),
            ("/bananas", no("bananas", "")),
            ("/bananas are yellow", no("bananas", "; a blank before it sends it as it is")),
            (" /bananas", None),
            ("/plan", None),
            ("/etc/hosts", None),
            ("/tmp is full", None),
            ("/Users is empty", None),
            ("//TODO", None),
            ("/*", None),
            ("/a.rs", None),
        ] {
            assert_eq!(unknown_command(prompt, commands()), expected, "{prompt}");
        }
    }

    #[test]
    fn every_listed_command_is_understood() {
        for command in commands() {
            let name = command.name.as_ref();
            assert!(text(&format!("/{name}")).is_some() || prompt(name, "").is_some(), "{name}");
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
            let text = text.map(|text| vec![Content::text(text)]);
            assert_eq!(steering(&[Content::text(prompt)]), text, "{prompt:?}");
        }
    }
}
