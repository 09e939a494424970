//! How a turn ended, and a rewind.

use crate::{ModelError, StopReason, StoreError, Usage};
use std::fmt;
use system::AbsPath;

/// How a prompt's turn ended in order.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptOutcome {
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// Tokens this turn used.
    pub usage: Usage,
    /// Tokens the session has used, this turn included; none of a prompt that had no turn.
    pub total: Usage,
    /// Model requests this turn made.
    pub requests: u32,
}

impl PromptOutcome {
    /// Of a prompt that no turn was made for.
    pub(crate) fn without_turn(stop_reason: StopReason) -> Self {
        Self { stop_reason, usage: Usage::default(), total: Usage::default(), requests: 0 }
    }

    /// Of a prompt that was taken back before anything was done about it.
    pub(crate) fn cancelled() -> Self {
        Self::without_turn(StopReason::Cancelled)
    }
}

/// Why a turn failed. For the client: what happened and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The model did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// What happened could not be recorded; the turn stopped before its next side effect.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The prompt holds nothing, or something this session cannot take.
    #[error("{0}")]
    BadPrompt(String),
    /// Too many prompts wait already.
    #[error("{0} prompts are waiting already; wait for one to end, or cancel")]
    QueueFull(usize),
    /// The session was closed while the prompt waited or ran.
    #[error("the session is closed")]
    Closed,
    /// A defect: the turn panicked. The session goes on.
    #[error("internal error in the turn: {0}; this is a defect in tiller, please report it")]
    Panicked(String),
}

/// What came of a rewind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RewindReport {
    /// Files that are again as they were.
    pub restored: Vec<AbsPath>,
    /// Files that are again as they were but for what somebody else has changed in other lines since.
    pub merged: Vec<AbsPath>,
    /// Files that were left as they are, and why.
    pub left: Vec<(AbsPath, String)>,
}

/// Why nothing was taken back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewindError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A turn is running.
    #[error("a turn is running; wait for its end, or cancel it")]
    Busy,
    /// There is no such turn.
    #[error("there is no turn {turn}; the last one is {last}")]
    NoTurn {
        /// The turn asked for.
        turn: u64,
        /// The last there is.
        last: u64,
    },
    /// No rewind is left that could be taken back.
    #[error("there is no rewind to take back")]
    NothingToRedo,
    /// It was cancelled before anything was changed.
    #[error("cancelled; nothing was changed")]
    Cancelled,
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
}

impl fmt::Display for RewindReport {
    /// A line for each file; for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.restored.is_empty() && self.merged.is_empty() && self.left.is_empty() {
            return writeln!(f, "Nothing was to be restored.");
        }
        for path in &self.restored {
            writeln!(f, "- restored `{path}`")?;
        }
        for path in &self.merged {
            writeln!(f, "- restored `{path}`, with what was changed elsewhere in it since")?;
        }
        for (path, reason) in &self.left {
            writeln!(f, "- left `{path}` as it is: {reason}")?;
        }
        Ok(())
    }
}
