//! Why the operator of a runtime does not let something begin.

use std::time::Duration;

/// Something that did not begin, because a limit of the operator is reached. Nothing of it
/// happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotAdmitted {
    /// What is reached.
    pub limit: OperatorLimit,
    /// What happened and what to do, for people.
    pub message: String,
    /// When to try again, if waiting alone helps.
    pub retry_after: Option<Duration>,
}

/// A limit of the operator of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorLimit {
    /// A quota of the user, or of all users together; holds its name for programs.
    Quota(&'static str),
    /// What the machine can do.
    Load,
}
