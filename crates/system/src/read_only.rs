//! A [`System`] that refuses to change files.

use crate::{
    AbsPath, Command, DiskSnapshot, Entry, Metadata, Pins, Piped, PipedCommand, Process, Route, Routes,
    SandboxSupport, ShellProgram, System, SystemError, TextRange, WalkOptions,
};
use async_trait::async_trait;
use std::sync::Arc;

/// Passes reads on and refuses every change of a file: writes, removals, renames, new directories.
///
/// Commands are passed on too. The read-only modes may run commands that only read, and the
/// permission gate tells these apart before [`System::spawn`] is called. This wrapper does not
/// inspect commands.
pub struct ReadOnly {
    inner: Arc<dyn System>,
}

impl ReadOnly {
    /// Wraps a system.
    pub fn new(inner: Arc<dyn System>) -> Self {
        Self { inner }
    }
}

fn refuse<T>(operation: &'static str) -> Result<T, SystemError> {
    Err(SystemError::ReadOnly { operation })
}

#[async_trait]
impl System for ReadOnly {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.inner.read(path).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        self.inner.read_text(path, range).await
    }

    async fn write(&self, _: &AbsPath, _: &[u8]) -> Result<(), SystemError> {
        refuse("writing a file")
    }

    async fn replace_text(&self, _: &AbsPath, _: Option<&str>, _: &str) -> Result<(), SystemError> {
        refuse("writing a file")
    }

    async fn set_executable(&self, _: &AbsPath, _: bool) -> Result<(), SystemError> {
        refuse("changing a file's mode")
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        self.inner.metadata(path).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        self.inner.read_dir(path).await
    }

    async fn create_dir_all(&self, _: &AbsPath) -> Result<(), SystemError> {
        refuse("creating a directory")
    }

    async fn remove(&self, _: &AbsPath) -> Result<(), SystemError> {
        refuse("removing a file")
    }

    async fn rename(&self, _: &AbsPath, _: &AbsPath) -> Result<(), SystemError> {
        refuse("renaming a file")
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        self.inner.resolve(path).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        self.inner.walk(root, options).await
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
        self.inner.spawn(command).await
    }

    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        self.inner.spawn_piped(command).await
    }

    fn routes(&self) -> Routes {
        Routes { write_text: Route::Refused, ..self.inner.routes() }
    }

    fn editor_is_remote(&self) -> bool {
        self.inner.editor_is_remote()
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        self.inner.read_text_on_disk(path).await
    }

    async fn read_disk_snapshot(&self, path: &AbsPath) -> DiskSnapshot {
        self.inner.read_disk_snapshot(path).await
    }

    fn pinned(&self, pins: Pins) -> Option<Arc<dyn System>> {
        Some(Arc::new(Self { inner: self.inner.pinned(pins)? }))
    }

    fn shell(&self) -> ShellProgram {
        self.inner.shell()
    }

    fn today(&self) -> Option<String> {
        self.inner.today()
    }

    fn project_secrets(&self, sandbox: &crate::Sandbox) -> Vec<String> {
        self.inner.project_secrets(sandbox)
    }

    fn withheld_variables(&self) -> Vec<String> {
        self.inner.withheld_variables()
    }

    fn veiled(&self, text: String) -> String {
        self.inner.veiled(text)
    }

    fn commands_see(&self, path: &AbsPath) -> bool {
        self.inner.commands_see(path)
    }

    fn stored_elsewhere(&self, path: &AbsPath) -> Option<AbsPath> {
        self.inner.stored_elsewhere(path)
    }

    async fn own_temp(&self) -> Option<AbsPath> {
        self.inner.own_temp().await
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        self.inner.sandbox_support().await
    }
}
