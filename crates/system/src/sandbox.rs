//! What a confined command may do, and what the machine can enforce of it.

use crate::limits::{SANDBOX_CPU, SANDBOX_DATA_BYTES, SANDBOX_FILE_BYTES, SANDBOX_PROCESSES};
use crate::{AbsPath, Folded, Spelled};

/// What a sandbox leaves of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SandboxLevel {
    /// No sandbox.
    Off,
    /// Writes below the writable folders only.
    #[default]
    WorkspaceWrite,
    /// No writes at all.
    ReadOnly,
}

impl SandboxLevel {
    /// The word in settings and arguments.
    pub fn id(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::WorkspaceWrite => "workspace-write",
            Self::ReadOnly => "read-only",
        }
    }

    /// The level of a word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Off, Self::WorkspaceWrite, Self::ReadOnly].into_iter().find(|level| level.id() == word)
    }
}

/// The confinement of one command. All paths are resolved: a link would be followed by whoever enforces it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Sandbox {
    /// What is left of the file system.
    pub level: SandboxLevel,
    /// Whether the network is reachable. Without it there is no TCP, no UDP, no name resolution and no local socket to
    /// other programs; loopback works where the kernel has network namespaces.
    pub network: bool,
    /// The folders that may be written at [`SandboxLevel::WorkspaceWrite`].
    pub writable: Vec<AbsPath>,
    /// Paths that stay as they are although they lie below a writable folder.
    pub guarded: Vec<AbsPath>,
    /// Names below writable folders that must not come into being. One that exists has to be
    /// guarded; one that appears while a command runs is renamed at once.
    pub reserved: Vec<AbsPath>,
    /// Directories that cannot be renamed, because what they hold is secret by its place.
    pub pinned: Vec<AbsPath>,
    /// Files and folders that cannot be read.
    pub hidden: Vec<AbsPath>,
    /// Patterns (`*` for any characters, without case) of files below the writable folders that cannot be read, matched
    /// against a file's name, its path and its path below the folder.
    pub secrets: Vec<String>,
    /// Patterns of names that hold no secret although a pattern of [`Sandbox::secrets`] matches.
    pub not_secret: Vec<String>,
    /// Names of files and directories that are guarded wherever they lie below a writable folder,
    /// relative to the directory that holds them. Those at the top are listed in `guarded` too.
    pub nested: Vec<String>,
    /// Files that exist and read as empty: the secret files that were found.
    pub blanked: Vec<AbsPath>,
    /// Directories that commands see in place of the shared ones for temporary files.
    pub temp: Vec<PrivateTemp>,
    /// Writable directories that are shared with other programs and hold nobody's project: no secret
    /// files are looked for in them.
    pub shared: Vec<AbsPath>,
    /// Resource limits.
    pub limits: ResourceLimits,
}

/// A directory for temporary files that belongs to one session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PrivateTemp {
    /// Where commands see it, such as `/tmp`. What lies there already can be read, and a change of it
    /// is seen by the session's commands only.
    pub at: AbsPath,
    /// Where its files are kept; made when it is first needed, readable by its owner only.
    pub backing: AbsPath,
}

impl PrivateTemp {
    /// Where the files that commands wrote below [`PrivateTemp::at`] lie.
    pub fn files(&self) -> AbsPath {
        self.backing.join("upper")
    }

    /// The directory that overlayfs needs for itself.
    pub fn work(&self) -> AbsPath {
        self.backing.join("work")
    }
}

/// What one command may use. A limit of the machine that is lower already stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResourceLimits {
    /// Processes and threads, of the whole command.
    pub processes: u64,
    /// Memory for data of each process, in bytes.
    pub memory_bytes: u64,
    /// The size of each file that is written, in bytes.
    pub file_bytes: u64,
    /// Processor time of each process, in seconds.
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

/// How a command is to be confined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Confinement {
    /// As the session's commands are: [`crate::Confined`] replaces it, a system without it does not confine.
    #[default]
    Session,
    /// Not at all, because the user said so.
    Lifted,
    /// Like this, or not at all started.
    Required(Sandbox),
    /// Like this where it runs on this machine; as it is in a client's terminal.
    HereOnly(Sandbox),
}

/// What this machine can enforce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SandboxSupport {
    /// The version of Landlock's interface; 0 without Landlock.
    pub landlock_abi: u32,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether commands get mounts, devices, IPC and a network of their own. Without it, guarded and
    /// secret files inside the project cannot be told from the rest of it.
    pub namespaces: bool,
    /// Whether commands get processes of their own, all of which end with the command. Without it
    /// those that were left behind are looked for and killed.
    pub processes: bool,
    /// Whether there is a launcher that applies the confinement.
    pub launcher: bool,
    /// Whether commands in the client's terminal are confined too, because the client starts them
    /// through the launcher on this machine.
    pub in_client: bool,
}

/// Landlock from this version on holds back truncation; an older one is not enough.
pub const MIN_LANDLOCK_ABI: u32 = 3;

impl SandboxSupport {
    /// Whether a command can be confined at all.
    pub fn applies(&self) -> bool {
        self.launcher && self.seccomp && self.landlock_abi >= MIN_LANDLOCK_ABI
    }

    /// Whether all of [`Sandbox`] is enforced, guarded and secret files inside the project too.
    pub fn holds(&self) -> bool {
        self.applies() && self.namespaces
    }
}

impl Sandbox {
    /// The writable directories in which projects lie: all but the shared temporary ones.
    pub fn projects(&self) -> impl Iterator<Item = &AbsPath> {
        let is_temp = |root: &AbsPath| self.temp.iter().any(|temp| &temp.at == root);
        self.writable.iter().filter(move |root| !is_temp(root) && !self.shared.contains(root))
    }

    /// Whether a file of this name is a secret wherever it lies.
    pub fn is_secret_by_name(&self, name: &str) -> bool {
        let name = Folded::of(name);
        self.secrets.iter().any(|pattern| name.matches(pattern))
    }

    /// Whether a file below a writable folder is a secret.
    pub fn is_secret(&self, path: &AbsPath) -> bool {
        let Some(name) = path.file_name() else { return false };
        let folded_name = Folded::of(name);
        if self.not_secret.iter().any(|pattern| folded_name.matches(pattern)) {
            return false;
        }
        let spelled = Spelled::of(path, &self.writable);
        self.secrets.iter().any(|pattern| spelled.matches(pattern))
    }
}
