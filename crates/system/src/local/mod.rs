//! The [`System`] of the machine that this process runs on.

mod aside;
mod blocking;
mod caches;
mod controls;
mod date;
mod deadline;
mod directory;
mod entry;
mod external_launch;
mod files;
mod foreground;
mod group;
mod ignores;
mod index;
mod launch;
mod leftovers;
mod locks;
mod login;
mod memory;
mod modes;
mod new_repositories;
mod options;
mod private_directory;
mod private_file;
mod process_table;
mod processes;
mod program_file;
mod programs;
mod read;
mod replace;
mod sandbox;
mod space;
mod stamp;
mod start;
mod terminal;
#[cfg(test)]
mod tests;
mod walk;
mod watchdog;
mod watcher;

use crate::{
    AbsPath, Claim, Command, ControlChange, DiskSnapshot, Entry, ExternalLaunch, GitNames, Metadata, Pins,
    Piped, PipedCommand, Process, Routes, Sandbox, SandboxSupport, ShellProgram, System, SystemError,
    TextRange, WalkOptions, text::TextForm,
};
use async_trait::async_trait;
use blocking::blocking;
pub use caches::{CACHES_DIRECTORY, ProjectCaches};
use controls::Controls;
pub use deadline::CommandDeadline;
use entry::Pinned;
pub use foreground::run_in_foreground;
use index::Indexes;
pub use launch::{OUTPUT_DIRECTORY, private_temp};
use leftovers::Leftovers;
pub use leftovers::TemporaryDirectory;
pub use login::LoginShell;
pub use memory::{MemoryUse, memory_use};
pub use options::LocalOptions;
pub use private_directory::create as create_private_directory;
pub use private_file::{AppendFile, FileLock, read_private, read_private_lines};
pub use process_table::{ProcessState, ProcessTable};
pub use program_file::{read_program, write_program};
use sandbox::Rooms;
pub use sandbox::{is_ordinary_variable, run_in_terminal, run_sandboxed, user_of_connection};
pub use space::free_bytes;
pub use stamp::FileStamp;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
pub use terminal::{is_interactive, open_terminal};
use watchdog::Watchdog;
pub use watcher::start_watcher;

/// The `PATH` of commands where this process has none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Files and processes of this machine. Cheap to clone; clones share one watchdog.
///
/// Writes go through symbolic links, preserve hard links and the file's mode, and preserve its
/// owner where the OS allows it. Regular files are opened without blocking; pipes, sockets and
/// devices are refused.
#[derive(Debug, Clone, Default)]
pub struct LocalSystem {
    watchdog: Arc<Watchdog>,
    options: Arc<LocalOptions>,
    support: Arc<tokio::sync::OnceCell<SandboxSupport>>,
    shell: Arc<OnceLock<ShellProgram>>,
    indexes: Arc<Indexes>,
    rooms: Arc<Rooms>,
    controls: Arc<Controls>,
    /// The values of the secret files below the directories of sandboxes.
    secrets: Arc<Mutex<HashMap<Vec<AbsPath>, Vec<String>>>>,
    leftovers: Arc<Leftovers>,
    /// The server of the network of commands.
    network: Option<Arc<dyn crate::RoomNetwork>>,
    /// The paths that the reads and writes of one tool call are bound to.
    pinned: Option<Arc<Pinned>>,
}

impl LocalSystem {
    /// Creates a system with default options. Starts no process: the watchdog is started with the
    /// first command.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a system with the given options.
    pub fn with_options(options: LocalOptions) -> Self {
        Self { options: Arc::new(options), ..Self::default() }
    }

    /// Lets commands with [`crate::Network::Session`] reach the network through a server.
    #[must_use]
    pub fn with_network(self, network: Arc<dyn crate::RoomNetwork>) -> Self {
        Self { network: Some(network), ..self }
    }

    /// Adds the variables of the login shell to those of a command, and the home directory that it
    /// has instead of that of this process. A command gets a home directory and a `PATH` also where
    /// this process has none, as under some service managers.
    async fn complete_environment(&self, env: &mut Vec<(String, String)>) {
        self.options.login.complete(env, |command| self.start_piped(command)).await;
        if let Some(home) = &self.options.home {
            env.retain(|(name, _)| name != "HOME");
            env.push(("HOME".to_owned(), home.to_string()));
        }
        let lacks = |name: &str| {
            std::env::var_os(name).is_none_or(|value| value.is_empty())
                && !env.iter().any(|(own, _)| own == name)
        };
        let home = std::env::home_dir().filter(|_| lacks("HOME"));
        let path = lacks("PATH").then(|| DEFAULT_PATH.to_owned());
        env.extend(
            home.and_then(|home| Some(("HOME".to_owned(), home.into_os_string().into_string().ok()?))),
        );
        env.extend(path.map(|path| ("PATH".to_owned(), path)));
    }

    /// Starts a program with piped streams, with exactly the variables of the command.
    async fn start_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        let launch = self.supervised(launch::piped(&command), false);
        let (watchdog, options) = (Arc::clone(&self.watchdog), Arc::clone(&self.options));
        processes::spawn_piped(command, launch, watchdog, options).await
    }
}

/// Reads a whole regular file of this machine, within the size limit of one read. For files that
/// are read before a session and its system exist.
///
/// # Errors
/// [`SystemError::NotFound`], [`SystemError::IsDirectory`] or [`SystemError::NotRegular`] for
/// anything but a regular file, [`SystemError::TooLarge`] over [`crate::limits::MAX_READ_BYTES`].
pub fn read_regular(path: &AbsPath) -> Result<Vec<u8>, SystemError> {
    read::bytes(path, None)
}

/// Removes what killed processes left behind, and then the old temporary files of other sessions.
/// Runs in its own thread. Only the first part is awaited, and only briefly: a recorded directory
/// may be on a file system that does not respond, and there may be thousands of sessions. A thread
/// that is stuck keeps the lock on those notes, so there is only one such thread, not one per
/// session.
async fn sweep_leftovers(sandbox: Sandbox) {
    let (done, swept) = tokio::sync::oneshot::channel();
    let work = move || {
        locks::sweep();
        leftovers::sweep();
        // The receiver is gone after the timeout.
        done.send(()).ok();
        launch::sweep(&sandbox);
    };
    match std::thread::Builder::new().name("sweep".to_owned()).spawn(work) {
        Ok(_) => drop(tokio::time::timeout(crate::limits::SWEEP_WAIT, swept).await),
        Err(error) => tracing::debug!(%error, "files of killed processes could not be removed"),
    }
}

/// Maps a missing file to `None`.
fn text_on_disk(read: Result<String, SystemError>) -> Result<Option<String>, SystemError> {
    match read {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the user's home directory.
fn home() -> Option<AbsPath> {
    AbsPath::from_os(std::env::var_os("HOME")?.as_ref()).ok()
}

#[async_trait]
impl System for LocalSystem {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || read::bytes(&path, pinned.as_deref())).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || match range {
            None => read::text(&path, pinned.as_deref()),
            Some(range) => read::lines(&path, pinned.as_deref(), range),
        })
        .await
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        let (path, bytes, pinned) = (path.clone(), bytes.to_vec(), self.pinned.clone());
        let leftovers = Arc::clone(&self.leftovers);
        blocking(move || replace::bytes(&path, pinned.as_deref(), &leftovers, &bytes)).await
    }

    async fn write_private(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        let (path, bytes, pinned) = (path.clone(), bytes.to_vec(), self.pinned.clone());
        let leftovers = Arc::clone(&self.leftovers);
        blocking(move || replace::private(&path, pinned.as_deref(), &leftovers, &bytes)).await
    }

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        let (path, bytes) = (path.clone(), bytes.to_vec());
        let leftovers = Arc::clone(&self.leftovers);
        blocking(move || {
            let directory = path.parent().unwrap_or_else(|| path.clone());
            let own = private_directory::create(&directory);
            own.map_err(|source| SystemError::from_io("make", &directory, source))?;
            replace::private(&path, None, &leftovers, &bytes)
        })
        .await
    }

    fn withheld_variables(&self) -> Vec<String> {
        let hidden = self.options.hidden_variables();
        let names = hidden.iter().flat_map(|hidden| hidden.withheld());
        names.filter_map(|name| name.into_string().ok()).collect()
    }

    fn project_secrets(&self, sandbox: &Sandbox) -> Vec<String> {
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.get(&sandbox.view.roots).cloned().unwrap_or_default()
    }

    async fn named_by_git(&self, roots: &[AbsPath], directory: &AbsPath) -> GitNames {
        let (roots, directory, controls) = (roots.to_vec(), directory.clone(), Arc::clone(&self.controls));
        blocking(move || controls.named(&roots, &[directory], home().as_ref())).await
    }

    async fn open_changes(&self, copies: &AbsPath) -> Vec<ControlChange> {
        self.controls.open_changes(copies)
    }

    async fn carry_over(&self, change: &ControlChange) -> Result<(), SystemError> {
        let (change, controls) = (change.clone(), Arc::clone(&self.controls));
        blocking(move || controls.carry_over(&change)).await
    }

    async fn create_own_directory(&self, path: &AbsPath) -> Result<(), SystemError> {
        let path = path.clone();
        blocking(move || {
            private_directory::create(&path).map_err(|source| SystemError::from_io("make", &path, source))
        })
        .await
    }

    async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
        let files = crate::system::resolved(self, paths).await;
        // The writers of this process queue first, so at most one of them waits for a lock.
        let claim = Claim::in_process(files.clone()).await;
        Ok(claim.with_locks(locks::lock_all(&files).await?))
    }

    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError> {
        let (path, text, pinned) = (path.clone(), text.to_owned(), self.pinned.clone());
        let (was, leftovers) = (was.map(str::to_owned), Arc::clone(&self.leftovers));
        blocking(move || replace::text(&path, pinned.as_deref(), &leftovers, was.as_deref(), &text)).await
    }

    async fn set_executable(&self, path: &AbsPath, executable: bool) -> Result<(), SystemError> {
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || replace::set_executable(&path, pinned.as_deref(), executable)).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        // A session starts with a lookup of its directory, which is usually cached. Switching to a
        // thread and back would take longer than everything else.
        if let (None, Some(found)) = (&self.pinned, files::cached_directory(path)) {
            return Ok(found);
        }
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || files::metadata(&path, pinned.as_deref())).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || files::read_dir(&path, pinned.as_deref())).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || files::create_dir_all(&path, pinned.as_deref())).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || files::remove(&path, pinned.as_deref())).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        let (from, to, pinned) = (from.clone(), to.clone(), self.pinned.clone());
        blocking(move || files::rename(&from, &to, pinned.as_deref())).await
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        let path = path.clone();
        blocking(move || entry::resolve(&path)).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        let root = root.clone();
        blocking(move || walk::walk(&root, &options)).await
    }

    async fn spawn(&self, mut command: Command) -> Result<Box<dyn Process>, SystemError> {
        self.complete_environment(&mut command.env).await;
        let launch = self.prepare(&command, false).await?;
        let (watchdog, options) = (Arc::clone(&self.watchdog), Arc::clone(&self.options));
        Ok(Box::new(processes::spawn(command, launch, watchdog, options).await?))
    }

    async fn spawn_piped(&self, mut command: PipedCommand) -> Result<Piped, SystemError> {
        self.complete_environment(&mut command.env).await;
        if !command.apart_from.is_empty() {
            programs::search_apart(&mut command);
        }
        let launch = self.prepare_piped(&command).await?;
        let (watchdog, options) = (Arc::clone(&self.watchdog), Arc::clone(&self.options));
        processes::spawn_piped(command, launch, watchdog, options).await
    }

    async fn sweep(&self, sandbox: &Sandbox) {
        sweep_leftovers(sandbox.clone()).await;
    }

    async fn prepare_external_launch(
        &self,
        command: &Command,
    ) -> Result<Option<Box<dyn ExternalLaunch>>, SystemError> {
        let Some(program) = self.options.terminal_launcher.first() else { return Ok(None) };
        // A program file that was replaced since this process started is a different program.
        if !programs::is_this(program) || !self.sandbox_support().await.holds() {
            return Ok(None);
        }
        let Some(launch) = self.prepare(command, true).await? else { return Ok(None) };
        let leftovers = Arc::clone(&self.leftovers);
        let launch =
            external_launch::PreparedLaunch::listen(launch, &self.options.terminal_launcher, leftovers)?;
        Ok(Some(Box::new(launch)))
    }

    fn routes(&self) -> Routes {
        Routes::LOCAL
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        text_on_disk(self.read_text(path, None).await)
    }

    async fn metadata_of(&self, paths: &[AbsPath]) -> Vec<Result<Metadata, SystemError>> {
        let (paths, pinned) = (paths.to_vec(), self.pinned.clone());
        blocking(move || paths.iter().map(|path| files::metadata(path, pinned.as_deref())).collect()).await
    }

    async fn read_disk_snapshot(&self, path: &AbsPath) -> DiskSnapshot {
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || {
            let metadata = files::metadata(&path, pinned.as_deref());
            let read = read::text_with_form(&path, pinned.as_deref());
            let TextForm { encoding, marked } =
                read.as_ref().map(|(_, written)| *written).unwrap_or_default();
            DiskSnapshot { text: text_on_disk(read.map(|(text, _)| text)), marked, encoding, metadata }
        })
        .await
    }

    async fn check_pinned(&self, path: &AbsPath) -> Result<(), SystemError> {
        let (path, Some(pinned)) = (path.clone(), self.pinned.clone()) else { return Ok(()) };
        blocking(move || match read::open(&path, Some(&pinned)) {
            Err(error @ (SystemError::Moved(_) | SystemError::Blocked(_) | SystemError::Unchecked(_))) => {
                Err(error)
            }
            // The client has the file, or fails likewise.
            _ => Ok(()),
        })
        .await
    }

    fn pinned(&self, pins: Pins) -> Option<Arc<dyn System>> {
        Some(Arc::new(Self { pinned: Some(Arc::new(Pinned::new(pins))), ..self.clone() }))
    }

    fn today(&self) -> Option<String> {
        Some(date::today())
    }

    fn shell(&self) -> ShellProgram {
        *self.shell.get_or_init(|| {
            let root = AbsPath::new("/").expect("the root is absolute");
            let path = std::env::var_os("PATH").filter(|path| !path.is_empty());
            let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
            match programs::is_there(ShellProgram::Bash.program(), &root, &path) {
                true => ShellProgram::Bash,
                false => ShellProgram::Sh,
            }
        })
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        let launcher = self.options.launcher.clone();
        *self.support.get_or_init(|| blocking(move || sandbox::probe(&launcher))).await
    }
}
