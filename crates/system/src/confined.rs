//! A system whose commands are confined.

use crate::{
    AbsPath, Command, Confinement, Entry, Look, Metadata, Process, Routes, Sandbox, SandboxLevel,
    SandboxSupport, ShellProgram, System, SystemError, TextRange, WalkOptions,
};
use async_trait::async_trait;
use std::sync::Arc;

/// Passes everything on; a command that says nothing of its confinement gets this one. A walk passes over
/// secret files; reads and writes are not affected: whoever does them has asked the gate.
pub struct Confined {
    inner: Arc<dyn System>,
    sandbox: Sandbox,
}

impl Confined {
    /// Confines the commands of a system. With [`SandboxLevel::Off`] nothing is confined.
    pub fn new(inner: Arc<dyn System>, sandbox: Sandbox) -> Self {
        Self { inner, sandbox }
    }
}

#[async_trait]
impl System for Confined {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.inner.read(path).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        self.inner.read_text(path, range).await
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.inner.write(path, bytes).await
    }

    async fn write_text(&self, path: &AbsPath, text: &str) -> Result<(), SystemError> {
        self.inner.write_text(path, text).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        self.inner.metadata(path).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        self.inner.read_dir(path).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.inner.create_dir_all(path).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.inner.remove(path).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        self.inner.rename(from, to).await
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        self.inner.resolve(path).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        let mut files = self.inner.walk(root, options).await?;
        files.retain(|file| !self.sandbox.is_secret(file));
        Ok(files)
    }

    async fn spawn(&self, mut command: Command) -> Result<Box<dyn Process>, SystemError> {
        if command.confinement == Confinement::Session && self.sandbox.level != SandboxLevel::Off {
            command.confinement = Confinement::Required(self.sandbox.clone());
        }
        self.inner.spawn(command).await
    }

    fn routes(&self) -> Routes {
        self.inner.routes()
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        self.inner.read_text_on_disk(path).await
    }

    async fn look_on_disk(&self, path: &AbsPath) -> Look {
        self.inner.look_on_disk(path).await
    }

    fn shell(&self) -> ShellProgram {
        self.inner.shell()
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        self.inner.sandbox_support().await
    }
}
