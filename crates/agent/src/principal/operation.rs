//! What a principal may ask the runtime for.

use super::Scope;

/// One kind of request to the runtime, as far as permission depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Opening a connection.
    Connect,
    /// Creating or importing a session.
    Create,
    /// Listing one's own sessions.
    List,
    /// Listing the sessions of all users of the tenant.
    ListTenant,
    /// Searching one's own sessions.
    Search,
    /// Reading a session: its record, events, checkpoints and totals, or an export.
    Read,
    /// Loading a session: its past, and then what happens in it.
    Load,
    /// Prompting.
    Prompt,
    /// Steering a running turn.
    Steer,
    /// Cancelling a turn, a subagent or a background command.
    Cancel,
    /// Changing a session: mode, model, title, directories, goal.
    Change,
    /// Restoring files of a session's checkpoint.
    Rewind,
    /// Calling a tool outside a turn.
    CallTool,
    /// Answering a permission request or a question.
    Answer,
    /// Archiving a session, or taking it out of the archive.
    Archive,
    /// Creating a session that begins with the past of another.
    Fork,
    /// Deleting a session.
    Delete,
    /// Reading one's own settings, memories and configured providers.
    ReadSettings,
    /// Changing one's own settings, memories, keys and trust.
    ChangeSettings,
    /// Administration: connections, tokens, the audit, draining.
    Administer,
    /// Reading metrics, and why a node is not ready.
    ReadMetrics,
    /// Connecting as the far side of a workspace.
    ServeWorkspace,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 22] = [
        Self::Connect,
        Self::Create,
        Self::List,
        Self::ListTenant,
        Self::Search,
        Self::Read,
        Self::Load,
        Self::Prompt,
        Self::Steer,
        Self::Cancel,
        Self::Change,
        Self::Rewind,
        Self::CallTool,
        Self::Answer,
        Self::Archive,
        Self::Fork,
        Self::Delete,
        Self::ReadSettings,
        Self::ChangeSettings,
        Self::Administer,
        Self::ReadMetrics,
        Self::ServeWorkspace,
    ];

    /// Returns the scopes that it needs, all of them.
    pub fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Connect => &[Scope::Connect],
            Self::Create => &[Scope::SessionCreate],
            Self::List | Self::Search | Self::Read | Self::Load | Self::ReadSettings => &[Scope::SessionRead],
            Self::ListTenant => &[Scope::Admin, Scope::SessionRead],
            Self::Prompt
            | Self::Steer
            | Self::Cancel
            | Self::Change
            | Self::Rewind
            | Self::CallTool
            | Self::Archive
            | Self::ChangeSettings => &[Scope::SessionWrite],
            Self::Answer => &[Scope::SessionApprove],
            Self::Fork => &[Scope::SessionRead, Scope::SessionCreate],
            Self::Delete => &[Scope::SessionDelete],
            Self::Administer => &[Scope::Admin],
            Self::ReadMetrics => &[Scope::Metrics],
            Self::ServeWorkspace => &[Scope::Runner],
        }
    }

    /// Whether it is about one session that exists already.
    pub fn is_about_a_session(self) -> bool {
        match self {
            Self::Read
            | Self::Load
            | Self::Prompt
            | Self::Steer
            | Self::Cancel
            | Self::Change
            | Self::Rewind
            | Self::CallTool
            | Self::Answer
            | Self::Archive
            | Self::Fork
            | Self::Delete => true,
            Self::Connect
            | Self::Create
            | Self::List
            | Self::ListTenant
            | Self::Search
            | Self::ReadSettings
            | Self::ChangeSettings
            | Self::Administer
            | Self::ReadMetrics
            | Self::ServeWorkspace => false,
        }
    }

    /// Whether an administrator may do it with a session of another user of the tenant. A fork is
    /// none of these: it would begin a session in the other user's directory.
    pub(super) fn crosses_users(self) -> bool {
        matches!(self, Self::Read | Self::Load)
    }
}
