//! The kinds of steps, and the table of commands.

use super::{
    files, lines,
    phrase::Phrase,
    progress::{Blocked, Script},
    rename, replace, run, search, show, tasks, write,
};

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Show files, or lines of them.
    Show(Vec<show::View>),
    /// Replace a text in a file.
    Replace(replace::Replace),
    /// Rename an identifier, whole words only.
    RenameSymbol(rename::RenameSymbol),
    /// Create or overwrite a file.
    Write(write::Write),
    /// Add lines to a file.
    Insert(lines::Insert),
    /// Delete lines of a file.
    DeleteLines(lines::DeleteLines),
    /// Delete a file.
    DeleteFile(files::DeleteFile),
    /// Move a file.
    Move(files::Move),
    /// Apply a patch.
    Patch(files::Patch),
    /// Search file contents.
    Search(search::Search),
    /// List files.
    List(search::List),
    /// Run a command.
    Run(run::Run),
    /// Note tasks.
    Tasks(tasks::Tasks),
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    /// What was done: a sentence without its full stop.
    pub(crate) line: String,
    /// A text to show with it.
    pub(crate) shown: Option<String>,
    /// The changed files, each with what was done to it.
    pub(crate) changed: Vec<(String, String)>,
}

/// A command: how to parse it, and how to present it to users.
#[derive(Debug)]
pub(crate) struct Command {
    /// The verbs it begins with, for suggesting similar commands.
    pub(crate) verbs: &'static [&'static str],
    /// Its syntax.
    pub(crate) form: &'static str,
    /// An example that can be sent unchanged.
    pub(crate) example: &'static str,
    /// Parses a phrase. Returns `None` if the phrase does not begin like this command, and the
    /// reason if it begins like it but is invalid.
    pub(crate) parse: fn(Phrase<'_>) -> Option<Result<Step, String>>,
}

/// All commands. The first one that recognises a phrase parses it.
pub(crate) const COMMANDS: &[&Command] = &[
    &show::COMMAND,
    &replace::COMMAND,
    &rename::COMMAND,
    &tasks::COMMAND,
    &write::COMMAND,
    &lines::APPEND,
    &lines::INSERT,
    &lines::DELETE,
    &files::PATCH,
    &files::DELETE,
    &files::MOVE,
    &search::LIST,
    &search::SEARCH,
    &run::COMMAND,
];

impl Step {
    /// Describes the step, beginning with a verb.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Show(views) => show::describe(views),
            Self::Replace(step) => step.describe(),
            Self::RenameSymbol(step) => step.describe(),
            Self::Write(step) => step.describe(),
            Self::Insert(step) => step.describe(),
            Self::DeleteLines(step) => step.describe(),
            Self::DeleteFile(step) => format!("delete `{}`", step.path),
            Self::Move(step) => format!("move `{}` to `{}`", step.from, step.to),
            Self::Patch(step) => step.describe(),
            Self::Search(step) => step.describe(),
            Self::List(step) => step.describe(),
            Self::Run(step) => format!("run {}", step.describe()),
            Self::Tasks(step) => format!("note {} task(s)", step.subjects.len()),
        }
    }

    /// Returns the tools that the step requires.
    pub(crate) fn tools(&self) -> &'static [&'static str] {
        match self {
            Self::Show(_) => &["file_read"],
            Self::Replace(_) | Self::Insert(_) | Self::DeleteLines(_) => &["file_read", "file_edit"],
            Self::RenameSymbol(_) => &["grep", "file_read", "file_edit"],
            Self::Write(_) => &["glob", "file_read", "file_write"],
            Self::DeleteFile(_) | Self::Move(_) | Self::Patch(_) => &["file_read", "apply_patch"],
            Self::Search(_) => &["grep"],
            Self::List(_) => &["glob"],
            Self::Run(_) => &["bash"],
            Self::Tasks(_) => &[tasks::LISTED],
        }
    }

    /// Runs the step, or the next part of it.
    pub(crate) fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked> {
        match self {
            Self::Show(views) => show::perform(views, script),
            Self::Replace(step) => step.perform(script),
            Self::RenameSymbol(step) => step.perform(script),
            Self::Write(step) => step.perform(script),
            Self::Insert(step) => step.perform(script),
            Self::DeleteLines(step) => step.perform(script),
            Self::DeleteFile(step) => step.perform(script),
            Self::Move(step) => step.perform(script),
            Self::Patch(step) => step.perform(script),
            Self::Search(step) => step.perform(script),
            Self::List(step) => step.perform(script),
            Self::Run(step) => step.perform(script),
            Self::Tasks(step) => step.perform(script),
        }
    }

    /// Returns the file that the step works on, which "it" refers to in the next step.
    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Self::Show(views) => match views.as_slice() {
                [view] => Some(&view.path),
                _ => None,
            },
            Self::Replace(step) => Some(&step.path),
            Self::Write(step) => Some(&step.path),
            Self::Insert(step) => Some(&step.path),
            Self::DeleteLines(step) => Some(&step.path),
            Self::Move(step) => Some(&step.to),
            _ => None,
        }
    }
}
