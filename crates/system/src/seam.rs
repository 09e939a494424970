//! The trait that every effect on a workspace goes through.

use crate::{
    AbsPath, Command, Launch, Pins, Piped, PipedCommand, Process, Sandbox, SandboxSupport, ShellProgram,
    SystemError, TextEncoding, text,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::SystemTime;

/// What kind of thing a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Directory,
    /// Anything else: a pipe, a socket, a device, a dangling link.
    Other,
}

/// What is known of a path on disk. Links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// When it was last changed, where the system tells.
    pub modified: Option<SystemTime>,
}

/// What a file on disk holds and how it looks.
#[derive(Debug)]
pub struct Look {
    /// Its text; `None` when there is no such file.
    pub text: Result<Option<String>, SystemError>,
    /// Whether a byte-order mark, which the text is without, stands in front of it.
    pub marked: bool,
    /// How it is written as bytes.
    pub encoding: TextEncoding,
    /// What is known of it; looked up before the text was read, so that it is never newer.
    pub metadata: Result<Metadata, SystemError>,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The full path.
    pub path: AbsPath,
    /// What it is; links are not followed ([`FileKind::Other`] for a link).
    pub kind: FileKind,
}

/// A range of lines: `line` is 1-based, `limit` the most lines wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    /// The first line wanted, from 1.
    pub line: usize,
    /// How many lines at the most.
    pub limit: usize,
}

/// Who carries out an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// The machine this process runs on.
    Local,
    /// The client: the editor's buffers and terminals.
    Client,
    /// Nobody: the operation is refused.
    Refused,
}

/// Who carries out which operations, now. A client that turns out not to have what it advertised changes this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Routes {
    /// Text reads.
    pub read_text: Route,
    /// Text writes.
    pub write_text: Route,
    /// Commands.
    pub spawn: Route,
}

impl Routes {
    /// Everything on this machine.
    pub const LOCAL: Self = Self { read_text: Route::Local, write_text: Route::Local, spawn: Route::Local };
}

/// What a walk passes over.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// The most entries to return.
    pub limit: usize,
    /// Whether hidden files, and folders such as `node_modules`, `vendor` and `target`, are walked too. Files that
    /// `.gitignore` and `.ignore` name are passed over unless this is set.
    pub include_ignored: bool,
}

/// Every effect on a workspace: files, folders and processes.
///
/// Contract (the suite in `crate::contract` holds every backend to it): paths are absolute; text is UTF-8, returned
/// with the line ends the file has and without a byte-order mark; writes are atomic, keep the file's mode and byte-order mark, and
/// write through symbolic links; a failed operation changes nothing; there is no current directory and no permission argument:
/// whoever calls has asked the gate.
#[async_trait]
pub trait System: Send + Sync {
    /// Reads a file's bytes, always from disk.
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError>;

    /// Reads text, from the editor's buffer where reads are delegated. `range` is passed down, so that a large file is paged and
    /// not shipped whole; a range past the end is the empty text. An empty file is `""`, never an error.
    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError>;

    /// Replaces a file's bytes, always on disk. The folder must exist.
    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError>;

    /// Replaces a file's bytes on disk so that only its owner can read them, whatever mode the file had. A link in its place is refused. Backends that
    /// have no such file refuse.
    async fn write_private(&self, path: &AbsPath, _bytes: &[u8]) -> Result<(), SystemError> {
        Err(SystemError::NotPrivate(path.clone()))
    }

    /// The same for a file that this program keeps for itself, in a folder that is made where it is
    /// missing: a folder that somebody else could write to or replace is refused.
    async fn write_own(&self, path: &AbsPath, _bytes: &[u8]) -> Result<(), SystemError> {
        Err(SystemError::NotPrivate(path.clone()))
    }

    /// Replaces a file's text, in the editor where writes are delegated. Missing folders are created.
    async fn write_text(&self, path: &AbsPath, text: &str) -> Result<(), SystemError>;

    /// What is on disk at a path.
    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError>;

    /// The names in a folder, sorted by name.
    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError>;

    /// Creates a folder and those above it; one that exists is fine.
    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError>;

    /// Removes a file, or a folder with all in it.
    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError>;

    /// Renames a file or folder; an existing file at the target is replaced.
    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError>;

    /// The path with every symbolic link resolved. Parts that do not exist (a file about to be created) are kept as they
    /// are below the deepest folder that does.
    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError>;

    /// The regular files below a folder, sorted by path; a file is its own only one. Links are not followed.
    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError>;

    /// Starts a process in a group of its own; its standard input is [`Command::input`] and nothing else.
    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError>;

    /// Starts a program of this machine that is talked to, in a group of its own. Backends that have no such machine refuse.
    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        Err(SystemError::NoPipes { program: command.program })
    }

    /// Removes the temporary files of sessions that were not used for long from this machine, and
    /// what processes that were killed left behind on it.
    async fn sweep(&self, _sandbox: &Sandbox) {}

    /// Prepares a command that somebody else is to start, in a terminal of this machine: what to start
    /// instead, which confines itself before it becomes the command. `None` where that cannot be had.
    async fn launch_elsewhere(&self, _command: &Command) -> Result<Option<Box<dyn Launch>>, SystemError> {
        Ok(None)
    }

    /// Who carries out text reads, text writes and commands.
    fn routes(&self) -> Routes;

    /// The day at the place where this runs, `2026-11-23`; `None` where that is not known.
    fn today(&self) -> Option<String> {
        None
    }

    /// Whether the user's editor works on another machine than this system does, as far as is
    /// known.
    fn is_apart(&self) -> bool {
        false
    }

    /// The text on disk, whatever the route of [`System::read_text`]; `None` when there is no such file. For the check that the
    /// buffer and the disk agree where the client reads but cannot write.
    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError>;

    /// What is on disk at each of several paths, in their order: one look for whoever wants to know them all.
    async fn metadata_of(&self, paths: &[AbsPath]) -> Vec<Result<Metadata, SystemError>> {
        let mut found = Vec::with_capacity(paths.len());
        for path in paths {
            found.push(self.metadata(path).await);
        }
        found
    }

    /// What is on disk at a path, and then its text, as [`System::metadata`] and [`System::read_text_on_disk`] tell it: one look for whoever wants
    /// to know both.
    async fn look_on_disk(&self, path: &AbsPath) -> Look {
        let metadata = self.metadata(path).await;
        let text = self.read_text_on_disk(path).await;
        let text::Written { encoding, marked } = match text {
            Ok(Some(_)) => self.read(path).await.map(|bytes| text::written(path, bytes)).unwrap_or_default(),
            _ => text::Written::default(),
        };
        Look { text, marked, encoding, metadata }
    }

    /// The same system for one call: its reads and writes on this machine go where they were decided about or fail. `None` where that
    /// cannot be had; what goes through a client is the client's.
    fn pinned(&self, _pins: Pins) -> Option<Arc<dyn System>> {
        None
    }

    /// The shell that [`System::spawn`] finds on the machine where commands run: `bash` where that
    /// machine is known to have it.
    fn shell(&self) -> ShellProgram {
        ShellProgram::Sh
    }

    /// What confinement commands get that run on this machine, as far as it can be enforced. A backend that knows nothing of it
    /// confines nothing.
    async fn sandbox_support(&self) -> SandboxSupport {
        SandboxSupport::default()
    }
}
