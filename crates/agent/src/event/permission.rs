//! Where a call acts that the user is asked about, and the user's answer.

use system::AbsPath;

/// Where a call acts that the user is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CallPlace {
    /// The directory it acts in, if it acts in one.
    pub directory: Option<AbsPath>,
    /// What else there is to know of the place, each in a few words: `outside the sandbox`,
    /// `network`, the host that a page is fetched from.
    pub facts: Vec<String>,
}

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionOutcome {
    /// Allow this call.
    AllowOnce,
    /// Allow this call and similar ones, for the session.
    AllowAlways,
    /// Allow this call and similar ones, in all sessions of the user: the rule that the request
    /// names is added to the user's settings.
    AllowForUser,
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
        matches!(self, Self::AllowOnce | Self::AllowAlways | Self::AllowForUser)
    }
}
