//! The user's answer to a permission request.

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionOutcome {
    /// Allow this call.
    AllowOnce,
    /// Allow this call and similar ones, for the session.
    AllowAlways,
    /// Reject this call.
    RejectOnce,
    /// Reject this call and similar ones, for the session.
    RejectAlways,
    /// There was no answer: the request was dismissed, or the turn was cancelled.
    Cancelled,
}

impl PermissionOutcome {
    /// Returns whether the call may run.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }
}
