//! The machine this process runs on.

mod files;
mod group;
mod processes;
mod read;
mod replace;
mod sandbox;
#[cfg(test)]
mod tests;
mod walk;
mod watchdog;

use crate::{
    AbsPath, Command, Confinement, Entry, Metadata, Process, Routes, SandboxSupport, System, SystemError,
    TextRange, WalkOptions,
};
use async_trait::async_trait;
pub use sandbox::run_sandboxed;
use std::sync::Arc;
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
}

/// What commands of the local machine are started with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalOptions {
    /// The program that applies a [`crate::Sandbox`] and becomes the command, with the arguments before those of
    /// [`crate::Sandbox::to_args`]; it calls [`run_sandboxed`]. Nothing can be confined without one.
    pub launcher: Vec<String>,
    /// Whether variables whose names say that they hold a secret are kept from commands.
    pub hide_secrets: bool,
    /// Variables that commands get although their names say so.
    pub keep_variables: Vec<String>,
}

impl LocalSystem {
    /// The local machine. Starts nothing: the watchdog comes with the first command.
    pub fn new() -> Self {
        Self::default()
    }

    /// The local machine with options.
    pub fn with_options(options: LocalOptions) -> Self {
        Self { options: Arc::new(options), ..Self::default() }
    }
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

#[async_trait]
impl System for LocalSystem {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        let path = path.clone();
        blocking(move || read::bytes(&path)).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        let path = path.clone();
        blocking(move || match range {
            None => read::text(&path),
            Some(range) => read::lines(&path, range),
        })
        .await
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        let (path, bytes) = (path.clone(), bytes.to_vec());
        blocking(move || replace::bytes(&path, &bytes)).await
    }

    async fn write_text(&self, path: &AbsPath, text: &str) -> Result<(), SystemError> {
        let (path, text) = (path.clone(), text.to_owned());
        blocking(move || replace::text(&path, &text)).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        let path = path.clone();
        blocking(move || files::metadata(&path)).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        let path = path.clone();
        blocking(move || files::read_dir(&path)).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        let path = path.clone();
        blocking(move || files::create_dir_all(&path)).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        let path = path.clone();
        blocking(move || files::remove(&path)).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        let (from, to) = (from.clone(), to.clone());
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
        if let Confinement::Required(sandbox) = &command.confinement {
            let support = self.sandbox_support().await;
            let launcher = sandbox::launcher(&self.options.launcher, sandbox, support)?;
            let program = std::mem::replace(&mut command.program, launcher.program);
            command.args.splice(..0, launcher.args.into_iter().chain([program]));
        }
        let process =
            processes::spawn(command, Arc::clone(&self.watchdog), Arc::clone(&self.options)).await?;
        Ok(Box::new(process))
    }

    fn routes(&self) -> Routes {
        Routes::LOCAL
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        match self.read_text(path, None).await {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        let launcher = self.options.launcher.clone();
        *self.support.get_or_init(|| blocking(move || sandbox::probe(&launcher))).await
    }
}
