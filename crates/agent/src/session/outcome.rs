//! The outcomes of turns and rewinds.

use crate::{ModelError, NotAdmitted, StopReason, StoreError, Usage};
use std::fmt;
use system::AbsPath;

/// How the turn of a prompt ended without failure.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptOutcome {
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// Tokens used by this turn.
    pub usage: Usage,
    /// Tokens used by the session, including this turn; zero if the prompt had no turn.
    pub total: Usage,
    /// Model requests made by this turn.
    pub requests: u32,
    /// How the prompt ended if Tiller itself answered it; `None` if it went to the model.
    pub command: Option<CommandOutcome>,
}

/// How a prompt ended that Tiller itself answered: a slash command, or a prompt that a hook denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// It was carried out.
    Done,
    /// It was not carried out. The answer says why.
    Refused,
    /// There is no such command.
    Unknown,
}

impl CommandOutcome {
    /// Returns the outcome as an id for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// Tiller's own answer to a prompt.
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) outcome: CommandOutcome,
}

impl Reply {
    pub(crate) fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), outcome: CommandOutcome::Done }
    }

    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self { text: text.into(), outcome: CommandOutcome::Refused }
    }

    pub(crate) fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), outcome: CommandOutcome::Unknown }
    }
}

impl PromptOutcome {
    /// The outcome of a prompt without a turn of its own.
    pub(crate) fn without_turn(stop_reason: StopReason) -> Self {
        Self { stop_reason, usage: Usage::default(), total: Usage::default(), requests: 0, command: None }
    }

    /// The outcome of a prompt withdrawn before it ran.
    pub(crate) fn cancelled() -> Self {
        Self::without_turn(StopReason::Cancelled)
    }
}

/// Why a turn failed. The messages are for the client: what happened and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The model request failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// An event could not be recorded; the turn stopped before its next side effect.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The prompt is empty or contains something that this session cannot accept.
    #[error("{0}")]
    BadPrompt(String),
    /// The queue of prompts is full.
    #[error("{0} prompts are waiting already; wait for one to end, or cancel")]
    QueueFull(usize),
    /// The operator of the runtime does not let the turn begin.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    /// The session works in the folders of another node, whose name this is.
    #[error(
        "this session works in the folders {0}, which are not on this node: it can be read here, and prompts need \
         a node with these folders; close it and load it again once one runs, or give nodes that share a file \
         system the same --node-folders"
    )]
    FoldersElsewhere(String),
    /// The session was closed while the prompt waited or ran.
    #[error("the session is closed")]
    Closed,
    /// The turn of a prompt that was sent again was cut off: its process ended, or lost its store.
    #[error(
        "the turn of this prompt was cut off: the process that ran it ended, or could not store its end; \
         the session goes on, so send a new prompt, such as /retry"
    )]
    OwnerLost,
    /// The turn of a prompt that was sent again had failed; the value is what was reported then.
    #[error("{0}")]
    Earlier(String),
    /// The turn panicked, which is a bug. The session stays usable.
    #[error("internal error in the turn: {0}; this is a defect in tiller, please report it")]
    Panicked(String),
}

impl TurnError {
    /// Whether the model's provider failed, so that another model may answer.
    pub fn is_of_provider(&self) -> bool {
        use ModelError::{Auth, BadResponse, NotConfigured, Overloaded, Transport};
        let Self::Model(error) = self else { return false };
        matches!(error, NotConfigured(_) | Auth(_) | Overloaded(_) | Transport(_) | BadResponse(_))
    }
}

/// The result of a rewind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RewindReport {
    /// Files restored to their earlier content.
    pub restored: Vec<AbsPath>,
    /// Files restored by a merge that keeps changes made by others in other lines.
    pub merged: Vec<AbsPath>,
    /// Files left unchanged, with the reason.
    pub left: Vec<(AbsPath, String)>,
    /// Whether the tasks were restored; `Some(false)` if they were left because they have changed
    /// since, `None` if they needed no change.
    pub tasks: Option<bool>,
}

/// Why a rewind changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewindError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A turn is running.
    #[error("a turn is running; wait for its end, or cancel it")]
    Busy,
    /// There is no such turn.
    #[error("there is no turn {turn}; the last one is {last}")]
    NoTurn {
        /// The requested turn.
        turn: u64,
        /// The last turn.
        last: u64,
    },
    /// There is no rewind to undo.
    #[error("there is no rewind to undo")]
    NothingToRedo,
    /// The rewind was cancelled before anything changed.
    #[error("cancelled; nothing was changed")]
    Cancelled,
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
}

impl fmt::Display for RewindReport {
    /// Writes a line for each file, for the user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = [self.restored.len(), self.merged.len(), self.left.len()];
        if files == [0; 3] && self.tasks.is_none() {
            return writeln!(f, "There was nothing to restore.");
        }
        for path in &self.restored {
            writeln!(f, "- restored `{path}`")?;
        }
        for path in &self.merged {
            writeln!(f, "- restored `{path}`; later changes elsewhere in it were kept")?;
        }
        for (path, reason) in &self.left {
            writeln!(f, "- left `{path}` as it is: {reason}")?;
        }
        match self.tasks {
            Some(true) => writeln!(f, "- restored the task list")?,
            Some(false) => writeln!(f, "- left the task list as it is: it has changed since")?,
            None => {}
        }
        Ok(())
    }
}
