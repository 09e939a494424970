//! The kinds of stories: the environment around the program.

/// The environment around the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Local files and confined local commands.
    Local,
    /// Local files and unconfined local commands.
    Unconfined,
    /// The editor's files, terminals and permission requests.
    Delegated,
    /// An MCP server in addition to local tools.
    Servers,
    /// A tree of subagents, with local tools.
    Swarm,
}

impl Kind {
    pub(super) const ALL: [Self; 5] =
        [Self::Local, Self::Unconfined, Self::Delegated, Self::Servers, Self::Swarm];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Unconfined => "unconfined",
            Self::Delegated => "delegated",
            Self::Servers => "servers",
            Self::Swarm => "swarm",
        }
    }

    /// The files in which effects count their runs: of a command, of an edit, of a server.
    pub(super) fn record_files(self) -> &'static [&'static str] {
        match self {
            Self::Local | Self::Unconfined | Self::Delegated => &["ran", "log.txt"],
            Self::Servers => &["ran", "log.txt", "acts"],
            Self::Swarm => &["ran"],
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
