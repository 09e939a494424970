//! The confinement of a command, and what the machine can enforce of it.

use crate::limits::{SANDBOX_CPU, SANDBOX_DATA_BYTES, SANDBOX_FILE_BYTES, SANDBOX_PROCESSES};
use crate::{AbsPath, Folded, PathSpellings, RoomPorts, View};

/// How much of the file system a sandbox leaves writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SandboxLevel {
    /// No sandbox.
    Off,
    /// Writes are allowed below the writable directories only.
    #[default]
    WorkspaceWrite,
    /// No writes are allowed.
    ReadOnly,
}

impl SandboxLevel {
    /// Returns the name that settings and arguments use.
    pub fn id(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::WorkspaceWrite => "workspace-write",
            Self::ReadOnly => "read-only",
        }
    }

    /// Parses the name of a level.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Off, Self::WorkspaceWrite, Self::ReadOnly].into_iter().find(|level| level.id() == word)
    }
}

/// The network of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Network {
    /// There is no TCP, no UDP, no name resolution and no local socket to other programs. Loopback
    /// works if the kernel has network namespaces.
    #[default]
    Off,
    /// Connections arrive at a [`RoomNetwork`](crate::RoomNetwork), which decides about each.
    /// Without namespaces, or where nothing serves it, this is the same as [`Network::Off`].
    Session,
    /// The network of this machine.
    Open,
}

impl Network {
    /// Returns the name in requests to the launcher.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Session => "session",
            Self::Open => "open",
        }
    }

    /// Returns the network with a name.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn of(id: &str) -> Option<Self> {
        [Self::Off, Self::Session, Self::Open].into_iter().find(|network| network.id() == id)
    }
}

/// The confinement of one command. All paths must be resolved, because the launcher would follow a
/// link.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Sandbox {
    /// How much of the file system is writable.
    pub level: SandboxLevel,
    /// The network that is reachable.
    pub network: Network,
    /// The ports that commands reach by [`Network::Session`].
    pub ports: RoomPorts,
    /// The files that the command sees.
    pub view: View,
    /// What stays unchanged although it lies below a writable directory.
    pub protected: ProtectedPaths,
    /// What cannot be read.
    pub secret: SecretPaths,
    /// Resource limits.
    pub limits: ResourceLimits,
}

/// The paths below writable directories that a command cannot change.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ProtectedPaths {
    /// Paths that stay read-only.
    pub guarded: Vec<AbsPath>,
    /// Paths that must not be created. An existing one has to be guarded; one that appears while a
    /// command runs is renamed immediately.
    pub reserved: Vec<AbsPath>,
    /// Files that are put back when a command has changed them, until the user decides. Those of a
    /// command that the session does not wait for are guarded and reserved.
    pub compared: Vec<AbsPath>,
    /// Files that commands change in a copy. The launcher puts links to the copies in their place.
    pub linked: Vec<LinkedFile>,
    /// Those of the guarded directories that commands may change in a copy.
    pub copied: Vec<AbsPath>,
    /// Those of them that do not exist, or that another command is creating.
    pub missing: Vec<AbsPath>,
    /// Directories that commands change in a copy. The launcher mounts the copies in their place.
    pub folders: Vec<LinkedFile>,
    /// Directories that cannot be renamed, because they contain files that are secret by their
    /// path.
    pub pinned: Vec<AbsPath>,
    /// Unix sockets of other programs. A command in a room finds something else at these paths.
    pub sockets: Vec<AbsPath>,
}

/// A file or a directory that commands change in a copy.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LinkedFile {
    /// The original.
    pub path: AbsPath,
    /// The copy.
    pub copy: AbsPath,
}

/// The files and directories that a command cannot read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct SecretPaths {
    /// Files and directories below writable directories.
    pub hidden: Vec<AbsPath>,
    /// Patterns (`*` for any characters, case-insensitive) of files below the writable directories.
    /// A pattern is matched against a file's name, its full path and its path relative to the
    /// writable directory.
    pub patterns: Vec<String>,
    /// Patterns of names that are not secret although one of `patterns` matches.
    pub exceptions: Vec<String>,
    /// Those of `patterns` whose files commands cannot read. They can read the others, and the
    /// values in these are removed from their output.
    pub hide: Vec<String>,
    /// Existing files that commands cannot read: those that were found by `hide`.
    pub blanked: Vec<AbsPath>,
}

/// Resource limits of one command. A lower limit that is already in force stays in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResourceLimits {
    /// The maximum number of processes and threads of the whole command.
    pub processes: u64,
    /// The maximum data memory of each process, in bytes.
    pub memory_bytes: u64,
    /// The maximum size of each written file, in bytes.
    pub file_bytes: u64,
    /// The maximum CPU time of each process, in seconds.
    pub cpu_seconds: u64,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            processes: SANDBOX_PROCESSES,
            memory_bytes: SANDBOX_DATA_BYTES,
            file_bytes: SANDBOX_FILE_BYTES,
            cpu_seconds: SANDBOX_CPU.as_secs(),
        }
    }
}

/// How a command is confined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Confinement {
    /// As the session's commands are. [`crate::Confined`] replaces this value; without that wrapper
    /// the command is not confined.
    #[default]
    Session,
    /// Not confined: the user has allowed the command to run outside the sandbox.
    Lifted,
    /// Confined as given; if that is not possible, the command does not start.
    Required(Sandbox),
    /// Confined as given on this machine, but not confined in a client's terminal.
    LocalOnly(Sandbox),
}

/// What this machine can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SandboxSupport {
    /// The Landlock ABI version; 0 without Landlock.
    pub landlock_abi: u32,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether commands get their own mount, IPC and network namespaces and their own devices.
    /// Without it, guarded and secret files inside the project cannot be protected separately from
    /// the rest of it.
    pub namespaces: bool,
    /// Whether commands get their own PID namespace, in which all processes end with the command.
    /// Without it, processes left behind are searched for and killed.
    pub processes: bool,
    /// Whether there is a launcher that applies the confinement.
    pub launcher: bool,
    /// Whether commands in the client's terminal are confined too, because the client starts them
    /// through the launcher on this machine.
    pub in_client: bool,
}

/// The minimum Landlock ABI version. Older versions cannot restrict truncation.
pub const MIN_LANDLOCK_ABI: u32 = 3;

impl SandboxSupport {
    /// Returns whether a command can be confined at all.
    pub fn applies(&self) -> bool {
        self.launcher && self.seccomp && self.landlock_abi >= MIN_LANDLOCK_ABI
    }

    /// Returns whether all of [`Sandbox`] is enforced, including guarded and secret files inside
    /// the project.
    pub fn holds(&self) -> bool {
        self.applies() && self.namespaces
    }
}

impl Sandbox {
    /// Returns whether a file with this name is secret in any directory.
    pub fn is_secret_by_name(&self, name: &str) -> bool {
        let name = Folded::of(name);
        self.secret.patterns.iter().any(|pattern| name.matches(pattern))
    }

    /// Returns whether a file is secret by its name, its path, or its path below a writable
    /// directory.
    pub fn is_secret(&self, path: &AbsPath) -> bool {
        self.is_named(path, &self.secret.patterns)
    }

    /// Returns whether commands cannot read a file, as [`Sandbox::is_secret`] does.
    pub(crate) fn is_hidden(&self, path: &AbsPath) -> bool {
        self.is_named(path, &self.secret.hide)
    }

    fn is_named(&self, path: &AbsPath, patterns: &[String]) -> bool {
        let Some(name) = path.file_name() else { return false };
        let folded_name = Folded::of(name);
        if self.secret.exceptions.iter().any(|pattern| folded_name.matches(pattern)) {
            return false;
        }
        let spelled = PathSpellings::of(path, &self.view.roots);
        patterns.iter().any(|pattern| spelled.matches(pattern))
    }
}
