//! A `System` wrapper that records changes of files.

use crate::{FileChange, Snapshot};
use async_trait::async_trait;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::{
    AbsPath, Claim, Command, DiskSnapshot, Entry, Metadata, Piped, PipedCommand, Process, Route, Routes,
    Sandbox, SandboxSupport, ShellProgram, System, SystemError, TextRange, WalkOptions,
};

/// Forwards all operations, and records each change of a file with its content before. Made for one
/// call; what the call has read is cached, so that it is not read again.
pub(crate) struct Recorder {
    inner: Arc<dyn System>,
    /// The resolved paths of files that the gate decided about: as declared, and with links
    /// resolved.
    places: Vec<(AbsPath, AbsPath)>,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    /// Texts as the system last returned them, perhaps from the editor.
    held: HashMap<AbsPath, String>,
    /// Texts as last read from disk; `None` for no file.
    on_disk: HashMap<AbsPath, Option<String>>,
    changes: Vec<FileChange>,
}

impl Recorder {
    /// Creates a recorder. Paths in `places` are not resolved again.
    pub(crate) fn new(inner: Arc<dyn System>, places: Vec<(AbsPath, AbsPath)>) -> Arc<Self> {
        Arc::new(Self { inner, places, noted: Mutex::default() })
    }

    /// Takes the recorded changes, one per file, without those that changed nothing.
    pub(crate) fn changes(&self) -> Vec<FileChange> {
        let mut changes = std::mem::take(&mut self.noted().changes);
        changes.retain(|change| change.before != change.after);
        changes
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the content of a file before a change, read from where the change will be made.
    ///
    /// # Errors
    /// If the content cannot be read.
    async fn before(&self, path: &AbsPath) -> Result<Option<Snapshot>, SystemError> {
        let by_client = self.inner.routes().write_text == Route::Client;
        let known = {
            let noted = self.noted();
            if let Some(change) = noted.changes.iter().find(|change| change.path == *path) {
                return Ok(change.after.clone());
            }
            let held = noted.held.get(path).map(|text| Some(text.clone()));
            let on_disk = noted.on_disk.get(path).cloned();
            if by_client { held.or(on_disk) } else { on_disk.or(held) }
        };
        let text = match known {
            Some(text) => text,
            None if by_client => match self.inner.read_text(path, None).await {
                Ok(text) => Some(text),
                Err(SystemError::NotFound(_)) => self.inner.read_text_on_disk(path).await?,
                Err(error) => return Err(error),
            },
            None => self.inner.read_text_on_disk(path).await?,
        };
        Ok(text.map(|text| Snapshot::of(text.as_bytes())))
    }

    /// Runs `effect`, which makes the content of a file `after`. The change is recorded before it
    /// is made: if it is dropped half-way, its outcome is unknown, and a rewind compares with what
    /// the file holds then.
    async fn change(
        &self,
        path: &AbsPath,
        after: Option<Snapshot>,
        effect: impl Future<Output = Result<(), SystemError>>,
    ) -> Result<(), SystemError> {
        let before = match self.before(path).await {
            Ok(before) => before,
            Err(error) => {
                tracing::warn!(%path, %error, "the earlier content of a file is unknown; its change cannot be undone");
                return effect.await;
            }
        };
        self.change_from(path, before, after, effect).await
    }

    /// Like [`Recorder::change`], for a known content before.
    async fn change_from(
        &self,
        path: &AbsPath,
        before: Option<Snapshot>,
        after: Option<Snapshot>,
        effect: impl Future<Output = Result<(), SystemError>>,
    ) -> Result<(), SystemError> {
        let real = match self.places.iter().find(|(declared, _)| declared == path) {
            Some((_, real)) => real.clone(),
            None => self.inner.resolve(path).await.unwrap_or_else(|_| path.clone()),
        };
        let undone = {
            let mut noted = self.noted();
            match noted.changes.iter_mut().find(|change| change.path == *path) {
                Some(change) => Some(std::mem::replace(&mut change.after, after)),
                None => {
                    noted.changes.push(FileChange { path: path.clone(), real, before, after, agent: None });
                    None
                }
            }
        };
        let done = effect.await;
        if done.is_err() {
            let mut noted = self.noted();
            match undone {
                Some(after) => {
                    let change = noted.changes.iter_mut().find(|change| change.path == *path);
                    change.into_iter().for_each(|change| change.after.clone_from(&after));
                }
                None => noted.changes.retain(|change| change.path != *path),
            }
        }
        done
    }
}

#[async_trait]
impl System for Recorder {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.inner.read(path).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        let text = self.inner.read_text(path, range).await?;
        if range.is_none() {
            let mut noted = self.noted();
            match noted.changes.iter_mut().find(|change| change.path == *path) {
                // Read back after the write: an editor may have altered the text.
                Some(change) => change.after = Some(Snapshot::of(text.as_bytes())),
                None => drop(noted.held.insert(path.clone(), text.clone())),
            }
        }
        Ok(text)
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.change(path, Some(Snapshot::of(bytes)), self.inner.write(path, bytes)).await
    }

    async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
        self.inner.claim(paths).await
    }

    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError> {
        let snapshot = |text: &str| Snapshot::of(text.as_bytes());
        let effect = self.inner.replace_text(path, was, text);
        self.change_from(path, was.map(snapshot), Some(snapshot(text)), effect).await
    }

    async fn reload_text(&self, path: &AbsPath, shown: &str, on_disk: &str) -> Result<(), SystemError> {
        self.inner.reload_text(path, shown, on_disk).await
    }

    async fn set_executable(&self, path: &AbsPath, executable: bool) -> Result<(), SystemError> {
        self.inner.set_executable(path, executable).await
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
        self.change(path, None, self.inner.remove(path)).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        let moved = self.before(from).await.unwrap_or_default();
        let effect = async { self.change(from, None, self.inner.rename(from, to)).await };
        match moved {
            Some(moved) => self.change(to, Some(moved), effect).await,
            None => effect.await,
        }
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
        self.inner.routes()
    }

    fn editor_is_remote(&self) -> bool {
        self.inner.editor_is_remote()
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        let text = self.inner.read_text_on_disk(path).await?;
        self.noted().on_disk.insert(path.clone(), text.clone());
        Ok(text)
    }

    async fn read_disk_snapshot(&self, path: &AbsPath) -> DiskSnapshot {
        let look = self.inner.read_disk_snapshot(path).await;
        if let Ok(text) = &look.text {
            self.noted().on_disk.insert(path.clone(), text.clone());
        }
        look
    }

    async fn sweep(&self, sandbox: &Sandbox) {
        self.inner.sweep(sandbox).await;
    }

    fn shell(&self) -> ShellProgram {
        self.inner.shell()
    }

    fn project_secrets(&self, sandbox: &Sandbox) -> Vec<String> {
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
