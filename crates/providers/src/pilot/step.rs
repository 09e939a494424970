//! What can be asked for, and the one table that leads from words to commands.

use super::{
    files, lines,
    phrase::Phrase,
    progress::{Pause, Script},
    rename, replace, run, search, show, tasks, write,
};

/// One thing to do.
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

/// What a step has done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    /// What was done, a sentence without its full stop.
    pub(crate) line: String,
    /// A text to show with it.
    pub(crate) shown: Option<String>,
    /// The files changed, each with what was done to it.
    pub(crate) changed: Vec<(String, String)>,
}

/// A command: how people say it, and how it is told to them.
#[derive(Debug)]
pub(crate) struct Command {
    /// The verbs it begins with, for finding the closest form.
    pub(crate) verbs: &'static [&'static str],
    /// Its form.
    pub(crate) form: &'static str,
    /// An example that works as it stands.
    pub(crate) example: &'static str,
    /// Reads a phrase: `None` when it does not begin like this command, the reason when it begins so and makes no sense.
    pub(crate) parse: fn(Phrase<'_>) -> Option<Result<Step, String>>,
}

/// Every command. The first one that recognises a phrase has it.
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
    /// What it is, beginning with a verb.
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

    /// The tools it cannot do without.
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

    /// Does it, or the next part of it.
    pub(crate) fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Pause> {
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

    /// The one file it works on: what "it" means in the next step.
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
