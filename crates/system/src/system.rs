//! The [`System`] trait, through which every effect on a workspace goes, and its types.

use crate::{
    AbsPath, Claim, Command, ControlChange, ExternalLaunch, GitNames, Pins, Piped, PipedCommand, Process,
    Sandbox, SandboxSupport, ShellProgram, SystemError, TextEncoding, TextRange, text,
};
use async_trait::async_trait;
use std::sync::Arc;
use std::time::SystemTime;

/// The type of a file system entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else: a pipe, a socket, a device, a dangling link.
    Other,
}

/// Metadata of a path on disk. Links are followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The type of the entry.
    pub kind: FileKind,
    /// Size in bytes.
    pub size: u64,
    /// The time of the last modification, where the system reports one.
    pub modified: Option<SystemTime>,
    /// The identity on its machine, where the system reports one.
    pub id: Option<FileId>,
}

/// The identity of a file or directory on its machine, which stays when it is renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileId {
    /// The device of the file system.
    pub device: u64,
    /// The number on it, which another file gets after this one is removed.
    pub inode: u64,
    /// The time of creation, in nanoseconds since the epoch; `None` if the file system has none.
    pub created: Option<u128>,
}

/// The content of a file on disk together with its metadata.
#[derive(Debug)]
pub struct DiskSnapshot {
    /// The text; `None` when the file does not exist.
    pub text: Result<Option<String>, SystemError>,
    /// Whether the file starts with a byte-order mark, which `text` does not include.
    pub marked: bool,
    /// The encoding of the file.
    pub encoding: TextEncoding,
    /// The metadata, read before the text so that it is never newer than the text.
    pub metadata: Result<Metadata, SystemError>,
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The full path.
    pub path: AbsPath,
    /// The type; links are not followed ([`FileKind::Other`] for a link).
    pub kind: FileKind,
}

/// The component that carries out an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// The machine that this process runs on.
    Local,
    /// The client: the editor's buffers and terminals.
    Client,
    /// The operation is refused.
    Refused,
}

/// The current route of each operation. It changes when a client turns out not to support an
/// operation that it advertised.
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

/// Options of [`System::walk`].
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// The maximum number of entries to return.
    pub limit: usize,
    /// Whether to include hidden files, files that `.gitignore` or `.ignore` exclude, and
    /// directories such as `node_modules`, `vendor` and `target`. All of these are skipped unless
    /// this is set.
    pub include_ignored: bool,
}

/// Every effect on a workspace: files, directories and processes.
///
/// Contract, which the suite in `crate::contract` checks for every backend:
///
/// - Paths are absolute; there is no current directory.
/// - Text is UTF-8, returned with the file's own line endings and without a byte-order mark.
/// - Writes are atomic, keep the file's mode and byte-order mark, and write through symbolic links.
/// - A missing path is [`SystemError::NotFound`], a directory in place of a file
///   [`SystemError::IsDirectory`], and binary data read as text [`SystemError::NotText`].
/// - A failed operation changes nothing.
/// - There is no permission argument: the caller has asked the permission gate.
#[async_trait]
pub trait System: Send + Sync {
    /// Reads a file's bytes, always from disk.
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError>;

    /// Reads text, from the editor's buffer where reads are delegated. `range` is passed down to
    /// the backend, so that a large file is paged instead of transferred whole. A range past the
    /// end returns the empty text. An empty file is `""`, never an error.
    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError>;

    /// Replaces a file's bytes, always on disk. The parent directory must exist.
    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError>;

    /// Replaces a file's bytes on disk so that only the owner can read them, regardless of the
    /// file's previous mode. A symbolic link at the path is refused. Backends that cannot guarantee
    /// this refuse with [`SystemError::NotPrivate`].
    async fn write_private(&self, path: &AbsPath, _bytes: &[u8]) -> Result<(), SystemError> {
        Err(SystemError::NotPrivate(path.clone()))
    }

    /// Writes a private file, as [`System::write_private`] does, for this program's own use.
    /// Creates missing parent directories, and refuses a directory that another user could write to
    /// or replace.
    async fn write_own(&self, path: &AbsPath, _bytes: &[u8]) -> Result<(), SystemError> {
        Err(SystemError::NotPrivate(path.clone()))
    }

    /// Creates a directory that only this user can access, with its parents, for this program's own
    /// use. Refuses one that another user could replace.
    async fn create_own_directory(&self, path: &AbsPath) -> Result<(), SystemError> {
        Err(SystemError::NotPrivate(path.clone()))
    }

    /// Waits for the right to change files, and returns it. Other holders in this process, and
    /// where possible in other processes of this user, wait until it is dropped. A caller that
    /// holds a claim must not ask for another one.
    ///
    /// # Errors
    /// [`SystemError::Busy`] if another process holds a claim for too long.
    async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
        Ok(Claim::in_process(resolved(self, paths).await).await)
    }

    /// Replaces a file's text, in the editor where writes are delegated, if it is `was` at the
    /// moment of the write: the text that [`System::read_text`] returned, or `None` if there was no
    /// file. Creates missing parent directories.
    ///
    /// # Errors
    /// [`SystemError::Changed`] if the text is another one; it is left as it is.
    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError>;

    /// Makes the editor show `on_disk`, the text on disk, if it still shows `shown`. Does nothing
    /// where no editor takes writes.
    ///
    /// # Errors
    /// [`SystemError::Changed`] if the editor shows another text.
    async fn reload_text(&self, _path: &AbsPath, _shown: &str, _on_disk: &str) -> Result<(), SystemError> {
        Ok(())
    }

    /// Makes a file on disk executable for those who may read it, or for no one. Does nothing where
    /// files have no such property.
    async fn set_executable(&self, _path: &AbsPath, _executable: bool) -> Result<(), SystemError> {
        Ok(())
    }

    /// Returns the metadata of a path on disk.
    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError>;

    /// Lists a directory, sorted by name.
    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError>;

    /// Creates a directory and its parents; an existing directory is no error.
    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError>;

    /// Removes a file, or a directory with its contents.
    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError>;

    /// Renames a file or directory. An existing target is refused with [`SystemError::Exists`].
    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError>;

    /// Resolves every symbolic link in a path. Components that do not exist (a file about to be
    /// created) are kept unchanged below the deepest existing directory.
    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError>;

    /// Lists the regular files below a directory, sorted by path. For a file, returns the file
    /// itself. Links are not followed.
    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError>;

    /// Starts a process in its own process group. Its standard input is [`Command::input`] and
    /// nothing else, unless the command is [`Command::interactive`].
    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError>;

    /// Starts a program on this machine with piped standard streams, in its own process group.
    /// Backends without a local machine refuse with [`SystemError::NoPipes`].
    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError>;

    /// Removes from this machine the temporary files of sessions that have not been used for a long
    /// time, and what killed processes left behind.
    async fn sweep(&self, _sandbox: &Sandbox) {}

    /// Prepares a command that another program starts, in a terminal on this machine. The result
    /// names the launcher to start instead, which confines itself before it becomes the command.
    /// Returns `None` where that is not supported.
    async fn prepare_external_launch(
        &self,
        _command: &Command,
    ) -> Result<Option<Box<dyn ExternalLaunch>>, SystemError> {
        Ok(None)
    }

    /// Returns the routes of text reads, text writes and commands.
    fn routes(&self) -> Routes;

    /// Returns the local date, such as `2026-11-23`; `None` where it is unknown.
    fn today(&self) -> Option<String> {
        None
    }

    /// Returns whether the user's editor is known to run on another machine than this system.
    fn editor_is_remote(&self) -> bool {
        false
    }

    /// Reads the text on disk, regardless of the route of [`System::read_text`]; `None` when the
    /// file does not exist. Used to check that the editor's buffer and the disk agree where the
    /// client can read but not write.
    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError>;

    /// Returns the metadata of several paths, in their order. Backends override this to batch the
    /// calls.
    async fn metadata_of(&self, paths: &[AbsPath]) -> Vec<Result<Metadata, SystemError>> {
        let mut found = Vec::with_capacity(paths.len());
        for path in paths {
            found.push(self.metadata(path).await);
        }
        found
    }

    /// Returns the metadata of a path and then its text, as [`System::metadata`] and
    /// [`System::read_text_on_disk`] do. Backends override this to batch the calls.
    async fn read_disk_snapshot(&self, path: &AbsPath) -> DiskSnapshot {
        let metadata = self.metadata(path).await;
        let text = self.read_text_on_disk(path).await;
        let text::TextForm { encoding, marked } = match text {
            Ok(Some(_)) => {
                self.read(path).await.map(|bytes| text::text_form(path, bytes)).unwrap_or_default()
            }
            _ => text::TextForm::default(),
        };
        DiskSnapshot { text, marked, encoding, metadata }
    }

    /// Returns this system bound to the resolved paths of one tool call: its reads and writes on
    /// this machine go to the paths that the permission decision was about, or fail. Returns `None`
    /// where that is not supported. Before a client opens a file, the path is checked with
    /// [`System::check_pinned`].
    fn pinned(&self, _pins: Pins) -> Option<Arc<dyn System>> {
        None
    }

    /// Checks a path that another program is about to open.
    ///
    /// # Errors
    /// If this system is bound to paths, and the file is not the one of the permission decision, or
    /// is a secret file under another name. A path at which nothing can be opened is no error.
    async fn check_pinned(&self, _path: &AbsPath) -> Result<(), SystemError> {
        Ok(())
    }

    /// Returns the shell that [`System::spawn`] finds on the machine where commands run: `bash`
    /// where it is known to be installed, else `sh`.
    fn shell(&self) -> ShellProgram {
        ShellProgram::Sh
    }

    /// Returns the directory of the session's own temporary files, which its commands see at
    /// [`crate::TEMP_PLACE`], if there are any. Other programs do not find them there.
    async fn own_temp(&self) -> Option<AbsPath> {
        None
    }

    /// Returns the values of secret files that the last command confined like this could read.
    fn project_secrets(&self, _sandbox: &Sandbox) -> Vec<String> {
        Vec::new()
    }

    /// Returns what git's configuration names below the roots of a session: that of the
    /// repositories at the roots, and of the one around a directory. Programs outside of the
    /// sandbox run or read it.
    async fn named_by_git(&self, _roots: &[AbsPath], _directory: &AbsPath) -> GitNames {
        GitNames::default()
    }

    /// Returns the changes that the session's commands made of files that git, editors or agents
    /// obey, and that were not returned before. `copies` is [`crate::View::copies`] of the session.
    async fn open_changes(&self, _copies: &AbsPath) -> Vec<ControlChange> {
        Vec::new()
    }

    /// Makes a change that [`System::open_changes`] has returned.
    ///
    /// # Errors
    /// [`SystemError::Changed`] if the file is not what it was any more; it is left as it is.
    async fn carry_over(&self, change: &ControlChange) -> Result<(), SystemError> {
        Err(SystemError::NotFound(change.path.clone()))
    }

    /// Returns the names of variables of this process that commands do not get.
    fn withheld_variables(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns a text without the values of secret files that the session's commands could read.
    fn veiled(&self, text: String) -> String {
        text
    }

    /// Returns whether the session's commands see a file of this machine, if it exists.
    fn commands_see(&self, _path: &AbsPath) -> bool {
        true
    }

    /// Returns where other programs find a file that the session's commands see at this path;
    /// `None` if it is the same path.
    fn stored_elsewhere(&self, _path: &AbsPath) -> Option<AbsPath> {
        None
    }

    /// Returns which confinement this machine can enforce for the commands that run on it. A
    /// backend that does not override this confines nothing.
    async fn sandbox_support(&self) -> SandboxSupport {
        SandboxSupport::default()
    }
}

/// Returns the resolved paths, and a path that cannot be resolved as it is.
pub(crate) async fn resolved<S: System + ?Sized>(system: &S, paths: &[AbsPath]) -> Vec<AbsPath> {
    let mut resolved = Vec::with_capacity(paths.len());
    for path in paths {
        resolved.push(system.resolve(path).await.unwrap_or_else(|_| path.clone()));
    }
    resolved
}
