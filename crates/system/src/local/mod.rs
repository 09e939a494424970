//! The machine this process runs on.

mod elsewhere;
mod files;
mod group;
mod ignores;
mod launch;
mod leftovers;
mod login;
mod place;
mod process_table;
mod processes;
mod programs;
mod read;
mod replace;
mod sandbox;
mod stamp;
mod start;
#[cfg(test)]
mod tests;
mod today;
mod walk;
mod watchdog;

use crate::{
    AbsPath, Command, Entry, Launch, Look, Metadata, Pins, Piped, PipedCommand, Process, Routes, Sandbox,
    SandboxSupport, ShellProgram, System, SystemError, TextRange, WalkOptions, text::Written,
};
use async_trait::async_trait;
pub use launch::{OUTPUTS, private_temp};
use leftovers::Leftovers;
pub use leftovers::TemporaryFolder;
pub use login::LoginShell;
use place::Pinned;
pub use process_table::{ProcessState, ProcessTable};
use sandbox::{Hiding, Survey};
pub use sandbox::{run_in_terminal, run_sandboxed};
pub use stamp::FileStamp;
use std::sync::{Arc, OnceLock};
use watchdog::Watchdog;

/// Files and processes of this machine. Cheap to clone; clones share one watchdog.
///
/// Symbolic links are written through, hard links are kept, a file's mode is kept and its owner where the system allows.
/// A regular file is opened without blocking; pipes, sockets and devices are refused.
#[derive(Debug, Clone, Default)]
pub struct LocalSystem {
    watchdog: Arc<Watchdog>,
    options: Arc<LocalOptions>,
    support: Arc<tokio::sync::OnceCell<SandboxSupport>>,
    shell: Arc<OnceLock<ShellProgram>>,
    survey: Arc<Survey>,
    leftovers: Arc<Leftovers>,
    /// What the reads and writes of one call are bound to.
    pinned: Option<Arc<Pinned>>,
}

/// What commands of the local machine are started with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalOptions {
    /// The program that confines and supervises commands, with the arguments that make it call
    /// [`run_sandboxed`]. Nothing can be confined without one.
    pub launcher: Vec<String>,
    /// The same program for terminals of others: an absolute path and the words behind which it takes
    /// the path of a socket, which it hands to [`run_in_terminal`]. No command can be confined there
    /// without it.
    pub terminal_launcher: Vec<String>,
    /// Whether variables whose names or values say that they hold a secret are kept from commands.
    pub hide_secrets: bool,
    /// Values that are secret under whatever name a variable has.
    pub secret_values: Vec<String>,
    /// Variables that commands get although their names or values say so.
    pub keep_variables: Vec<String>,
    /// Whose variables commands and programs that are talked to get beside those of this process.
    pub login: LoginShell,
}

impl LocalOptions {
    /// Which variables are withheld from commands, if any are.
    fn hiding(&self) -> Option<Hiding> {
        let hiding = || Hiding { values: self.secret_values.clone(), keep: self.keep_variables.clone() };
        self.hide_secrets.then(hiding)
    }
}

impl LocalSystem {
    /// The local machine. Starts nothing: the watchdog comes with the first command.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a path that is to be removed, renamed or made leads where it did. Right before it is done, and not in one step with it.
    async fn still(&self, path: &AbsPath) -> Result<(), SystemError> {
        let Some(target) = self.pinned.as_ref().and_then(|pinned| pinned.target(path)) else { return Ok(()) };
        match self.resolve(path).await? == target {
            true => Ok(()),
            false => Err(SystemError::Moved(path.clone())),
        }
    }

    /// The local machine with options.
    pub fn with_options(options: LocalOptions) -> Self {
        Self { options: Arc::new(options), ..Self::default() }
    }
}

/// A whole regular file of this machine, of a size that one read may have. For what is read before there
/// is a session and its system.
pub fn read_regular(path: &AbsPath) -> Result<Vec<u8>, SystemError> {
    read::bytes(path, None)
}

/// Runs file work off the async threads: one hop per operation.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down and takes this future with it.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Removes what killed processes left behind. On a thread of its own, for which nobody waits long:
/// a folder that was noted may be on a file system that does not answer. The thread holds the lock
/// of those notes then, so that there is one such thread and not one for each session.
async fn sweep_leftovers() {
    let (done, swept) = tokio::sync::oneshot::channel();
    let work = move || {
        leftovers::sweep();
        // Nobody waits any more when it took long.
        done.send(()).ok();
    };
    match std::thread::Builder::new().name("sweep".to_owned()).spawn(work) {
        Ok(_) => drop(tokio::time::timeout(crate::limits::SWEEP_WAIT, swept).await),
        Err(error) => tracing::debug!(%error, "what killed processes left behind stays"),
    }
}

/// A file that is not there has no text, which is no error.
fn text_on_disk(read: Result<String, SystemError>) -> Result<Option<String>, SystemError> {
    match read {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
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
        let (path, bytes) = (path.clone(), bytes.to_vec());
        self.still(&path).await?;
        let leftovers = Arc::clone(&self.leftovers);
        blocking(move || replace::private(&path, &leftovers, &bytes)).await
    }

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        let (path, bytes) = (path.clone(), bytes.to_vec());
        let leftovers = Arc::clone(&self.leftovers);
        blocking(move || {
            let folder = path.parent().unwrap_or_else(|| path.clone());
            let own = launch::private_directory(&folder);
            own.map_err(|source| SystemError::from_io("make", &folder, source))?;
            replace::private(&path, &leftovers, &bytes)
        })
        .await
    }

    async fn write_text(&self, path: &AbsPath, text: &str) -> Result<(), SystemError> {
        let (path, text, pinned) = (path.clone(), text.to_owned(), self.pinned.clone());
        let leftovers = Arc::clone(&self.leftovers);
        blocking(move || replace::text(&path, pinned.as_deref(), &leftovers, &text)).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        // A session begins with a look at its folder, which somebody was in just now: the two switches to a thread would take longer than all else.
        if let Some(found) = files::folder_at_hand(path) {
            return Ok(found);
        }
        let path = path.clone();
        blocking(move || files::metadata(&path)).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        let path = path.clone();
        blocking(move || files::read_dir(&path)).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        let path = path.clone();
        self.still(&path).await?;
        blocking(move || files::create_dir_all(&path)).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        let path = path.clone();
        self.still(&path).await?;
        blocking(move || files::remove(&path)).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        let (from, to) = (from.clone(), to.clone());
        self.still(&from).await?;
        self.still(&to).await?;
        blocking(move || files::rename(&from, &to)).await
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        let path = path.clone();
        blocking(move || files::resolve(&path)).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        let root = root.clone();
        blocking(move || walk::walk(&root, &options)).await
    }

    async fn spawn(&self, mut command: Command) -> Result<Box<dyn Process>, SystemError> {
        self.options.login.complete(&mut command.env, self).await;
        let order = self.prepare(&command, false).await?;
        let (watchdog, options) = (Arc::clone(&self.watchdog), Arc::clone(&self.options));
        Ok(Box::new(processes::spawn(command, order, watchdog, options).await?))
    }

    async fn spawn_piped(&self, mut command: PipedCommand) -> Result<Piped, SystemError> {
        self.options.login.complete(&mut command.env, self).await;
        let order = self.supervised(&command);
        let (watchdog, options) = (Arc::clone(&self.watchdog), Arc::clone(&self.options));
        processes::spawn_piped(command, order, watchdog, options).await
    }

    async fn sweep(&self, sandbox: &Sandbox) {
        let sandbox = sandbox.clone();
        blocking(move || launch::sweep(&sandbox)).await;
        sweep_leftovers().await;
    }

    async fn launch_elsewhere(&self, command: &Command) -> Result<Option<Box<dyn Launch>>, SystemError> {
        let Some(program) = self.options.terminal_launcher.first() else { return Ok(None) };
        // One that was replaced since this process began is another program.
        if !programs::is_this(program) || !self.sandbox_support().await.holds() {
            return Ok(None);
        }
        let Some(order) = self.prepare(command, true).await? else { return Ok(None) };
        let leftovers = Arc::clone(&self.leftovers);
        let launch = elsewhere::Waiting::listen(order, &self.options.terminal_launcher, leftovers)?;
        Ok(Some(Box::new(launch)))
    }

    fn routes(&self) -> Routes {
        Routes::LOCAL
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        text_on_disk(self.read_text(path, None).await)
    }

    async fn metadata_of(&self, paths: &[AbsPath]) -> Vec<Result<Metadata, SystemError>> {
        let paths = paths.to_vec();
        blocking(move || paths.iter().map(files::metadata).collect()).await
    }

    async fn look_on_disk(&self, path: &AbsPath) -> Look {
        let (path, pinned) = (path.clone(), self.pinned.clone());
        blocking(move || {
            let metadata = files::metadata(&path);
            let read = read::written_text(&path, pinned.as_deref());
            let Written { encoding, marked } = read.as_ref().map(|(_, written)| *written).unwrap_or_default();
            Look { text: text_on_disk(read.map(|(text, _)| text)), marked, encoding, metadata }
        })
        .await
    }

    fn pinned(&self, pins: Pins) -> Option<Arc<dyn System>> {
        Some(Arc::new(Self { pinned: Some(Arc::new(Pinned::new(pins))), ..self.clone() }))
    }

    fn today(&self) -> Option<String> {
        Some(today::today())
    }

    fn shell(&self) -> ShellProgram {
        *self.shell.get_or_init(|| {
            let root = AbsPath::new("/").expect("the root is absolute");
            let path = std::env::var_os("PATH").unwrap_or_default();
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
