//! The user's answer to a question about a call.

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionOutcome {
    /// This once.
    AllowOnce,
    /// This and its like, for the session.
    AllowAlways,
    /// Not this once.
    RejectOnce,
    /// Neither this nor its like, for the session.
    RejectAlways,
    /// Nobody answered: the request was dismissed, or the turn cancelled.
    Cancelled,
}

impl PermissionOutcome {
    /// Whether the call may run.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }
}
