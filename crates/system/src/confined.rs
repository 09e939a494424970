//! A [`System`] that runs commands in the session's sandbox.

use crate::veil::{Veil, VeiledProcess};
use crate::{
    AbsPath, Claim, Command, Confinement, DiskSnapshot, Entry, ExternalLaunch, Metadata, Piped, PipedCommand,
    Process, Routes, Sandbox, SandboxLevel, SandboxSupport, ShellProgram, System, SystemError, TextRange,
    View, WalkOptions,
};
use async_trait::async_trait;
use std::sync::Arc;

/// Maximum number of links between temporary files that one path follows.
const MAX_LINKS: usize = 8;

/// Applies the session's sandbox to commands with [`Confinement::Session`] and passes all other
/// operations on.
///
/// Walks skip secret files. Paths of temporary files lead to those of the session, so that file
/// operations and commands see the same files.
pub struct Confined {
    inner: Arc<dyn System>,
    sandbox: Sandbox,
    local_only: bool,
    own_files: Option<AbsPath>,
}

impl Confined {
    /// Confines the commands of a system. With [`SandboxLevel::Off`] nothing is confined.
    pub fn new(inner: Arc<dyn System>, sandbox: Sandbox) -> Self {
        Self { inner, sandbox, local_only: false, own_files: None }
    }

    /// Leaves commands in a client's terminal unconfined.
    pub fn local_only(self) -> Self {
        Self { local_only: true, ..self }
    }

    /// Always reads text below `directory` from disk, even where text reads are delegated, because
    /// this program keeps its own files there.
    pub fn with_own_files(self, directory: Option<AbsPath>) -> Self {
        Self { own_files: directory, ..self }
    }

    fn stored(&self, path: &AbsPath) -> AbsPath {
        self.sandbox.view.stored(path)
    }

    /// Replaces the confinement of the session's commands by its sandbox.
    fn confine(&self, confinement: &mut Confinement) {
        if *confinement == Confinement::Session && self.sandbox.level != SandboxLevel::Off {
            let sandbox = self.sandbox.clone();
            *confinement = match self.local_only {
                true => Confinement::LocalOnly(sandbox),
                false => Confinement::Required(sandbox),
            };
        }
    }

    fn veil(&self) -> Veil {
        Veil::over(&self.inner.project_secrets(&self.sandbox))
    }

    fn is_own(&self, path: &AbsPath) -> bool {
        self.own_files.as_ref().is_some_and(|own| path.starts_with(own))
    }
}

#[async_trait]
impl System for Confined {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.inner.read(&self.stored(path)).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        if self.is_own(path) {
            let bytes = self.inner.read(path).await?;
            let text = String::from_utf8_lossy(&bytes);
            return Ok(match range {
                None => text.into_owned(),
                Some(TextRange { line, limit }) => {
                    text.split_inclusive('\n').skip(line.saturating_sub(1)).take(limit).collect()
                }
            });
        }
        self.inner.read_text(&self.stored(path), range).await
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.inner.write(&self.stored(path), bytes).await
    }

    async fn create_own_directory(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.inner.create_own_directory(path).await
    }

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.inner.write_own(path, bytes).await
    }

    async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
        let stored: Vec<_> = paths.iter().map(|path| self.stored(path)).collect();
        self.inner.claim(&stored).await
    }

    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError> {
        self.inner.replace_text(&self.stored(path), was, text).await
    }

    async fn reload_text(&self, path: &AbsPath, shown: &str, on_disk: &str) -> Result<(), SystemError> {
        self.inner.reload_text(&self.stored(path), shown, on_disk).await
    }

    async fn set_executable(&self, path: &AbsPath, executable: bool) -> Result<(), SystemError> {
        self.inner.set_executable(&self.stored(path), executable).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        self.inner.metadata(&self.stored(path)).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        self.inner.read_dir(&self.stored(path)).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.inner.create_dir_all(&self.stored(path)).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.inner.remove(&self.stored(path)).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        self.inner.rename(&self.stored(from), &self.stored(to)).await
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        resolve_stored(self.inner.as_ref(), &self.sandbox.view, path).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        let mut files = self.inner.walk(&self.stored(root), options).await?;
        files.retain(|file| !self.sandbox.is_secret(file));
        Ok(files)
    }

    async fn spawn(&self, mut command: Command) -> Result<Box<dyn Process>, SystemError> {
        self.confine(&mut command.confinement);
        let process = self.inner.spawn(command).await?;
        Ok(VeiledProcess::over(process, self.veil()))
    }

    async fn spawn_piped(&self, mut command: PipedCommand) -> Result<Piped, SystemError> {
        self.confine(&mut command.confinement);
        self.inner.spawn_piped(command).await
    }

    async fn prepare_external_launch(
        &self,
        command: &Command,
    ) -> Result<Option<Box<dyn ExternalLaunch>>, SystemError> {
        self.inner.prepare_external_launch(command).await
    }

    fn routes(&self) -> Routes {
        self.inner.routes()
    }

    fn editor_is_remote(&self) -> bool {
        self.inner.editor_is_remote()
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        self.inner.read_text_on_disk(&self.stored(path)).await
    }

    async fn read_disk_snapshot(&self, path: &AbsPath) -> DiskSnapshot {
        self.inner.read_disk_snapshot(&self.stored(path)).await
    }

    async fn sweep(&self, sandbox: &Sandbox) {
        self.inner.sweep(sandbox).await;
    }

    fn shell(&self) -> ShellProgram {
        self.inner.shell()
    }

    fn today(&self) -> Option<String> {
        self.inner.today()
    }

    async fn own_temp(&self) -> Option<AbsPath> {
        let view = &self.sandbox.view;
        let temp = view.temp.clone()?;
        let entries = self.inner.read_dir(&temp).await.ok()?;
        let is_file = |entry: &Entry| !view.is_mount_point(&temp, &entry.path);
        entries.iter().any(is_file).then_some(temp)
    }

    fn withheld_variables(&self) -> Vec<String> {
        self.inner.withheld_variables()
    }

    fn veiled(&self, text: String) -> String {
        self.veil().hide(text)
    }

    fn commands_see(&self, path: &AbsPath) -> bool {
        self.sandbox.view.shows(path)
    }

    fn stored_elsewhere(&self, path: &AbsPath) -> Option<AbsPath> {
        Some(self.stored(path)).filter(|stored| stored != path)
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        self.inner.sandbox_support().await
    }
}

/// Resolves every symbolic link of a path as commands see it: a link to a temporary file leads to
/// that of the session.
///
/// # Errors
/// As for [`System::resolve`], and [`SystemError::Moved`] if the links do not end.
pub async fn resolve_stored(
    system: &dyn System,
    view: &View,
    path: &AbsPath,
) -> Result<AbsPath, SystemError> {
    let mut stored = view.stored(path);
    for _ in 0..MAX_LINKS {
        let real = system.resolve(&stored).await?;
        stored = view.stored(&real);
        if stored == real {
            return Ok(real);
        }
    }
    Err(SystemError::Moved(path.clone()))
}
