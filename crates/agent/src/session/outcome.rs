//! How a prompt's turn ended.

use crate::{ModelError, StopReason, StoreError, Usage};

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
