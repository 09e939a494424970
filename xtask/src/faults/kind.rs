//! The kinds of stories: what stands around the program.

/// What stands around the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Files and confined commands of this machine.
    Local,
    /// Files and commands of this machine that nothing confines.
    Unconfined,
    /// The editor's files and terminals, and its questions.
    Delegated,
    /// A server of the Model Context Protocol beside local tools.
    Servers,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Local, Self::Unconfined, Self::Delegated, Self::Servers];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Unconfined => "unconfined",
            Self::Delegated => "delegated",
            Self::Servers => "servers",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
