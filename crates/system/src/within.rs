//! A [`System`] that has the files of some directories only.

use crate::{
    AbsPath, Claim, Command, ControlChange, DiskSnapshot, Entry, ExternalLaunch, GitNames, Metadata, Pins,
    Piped, PipedCommand, Process, Routes, Sandbox, SandboxSupport, ShellProgram, System, SystemError,
    TextRange, WalkOptions,
};
use async_trait::async_trait;
use std::sync::Arc;

/// Passes operations on files on if their paths lead into one of the directories, with all links
/// resolved. Everything else does not exist for reads, and cannot be changed.
///
/// Reads and writes of files are bound to the resolved path ([`System::pinned`]), so that a link
/// that is exchanged in between does not lead elsewhere. [`System::resolve`] and commands are
/// passed on: what a command reaches is up to its sandbox.
pub struct Within {
    inner: Arc<dyn System>,
    directories: Arc<[AbsPath]>,
    pins: Pins,
}

impl Within {
    /// Creates a system with the files below the directories.
    pub fn new(inner: Arc<dyn System>, directories: Vec<AbsPath>) -> Self {
        Self { inner, directories: directories.into(), pins: Pins::default() }
    }

    /// Returns the system that performs an operation on this path; `None` if the path leads out of
    /// the directories.
    async fn at(&self, path: &AbsPath) -> Option<Arc<dyn System>> {
        // A target that the caller has checked holds even if the path leads elsewhere by now.
        let target = match self.pins.target(path) {
            Some(target) => target,
            None => self.inner.resolve(path).await.ok()?,
        };
        // A resolved path that lies below a directory as it is spelled shows that the directory
        // has no links.
        let is_inside = self.directories.iter().any(|directory| target.starts_with(directory))
            || self.is_below_a_link(&target).await;
        let mut pins = self.pins.clone();
        pins.places.push((path.clone(), target));
        is_inside.then(|| self.inner.pinned(pins).unwrap_or_else(|| self.inner.clone()))
    }

    /// Whether a resolved path lies below one of the directories with their own links resolved.
    async fn is_below_a_link(&self, target: &AbsPath) -> bool {
        for directory in self.directories.iter() {
            if self.inner.resolve(directory).await.is_ok_and(|root| target.starts_with(&root)) {
                return true;
            }
        }
        false
    }

    async fn to_read(&self, path: &AbsPath) -> Result<Arc<dyn System>, SystemError> {
        self.at(path).await.ok_or_else(|| SystemError::NotFound(path.clone()))
    }

    async fn to_change(&self, path: &AbsPath) -> Result<Arc<dyn System>, SystemError> {
        self.at(path).await.ok_or_else(|| SystemError::NotWithin(path.clone()))
    }
}

#[async_trait]
impl System for Within {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.to_read(path).await?.read(path).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        self.to_read(path).await?.read_text(path, range).await
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.to_change(path).await?.write(path, bytes).await
    }

    async fn write_private(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.to_change(path).await?.write_private(path, bytes).await
    }

    async fn create_own_directory(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.to_change(path).await?.create_own_directory(path).await
    }

    async fn write_own(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.to_change(path).await?.write_own(path, bytes).await
    }

    async fn claim(&self, paths: &[AbsPath]) -> Result<Claim, SystemError> {
        self.inner.claim(paths).await
    }

    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError> {
        self.to_change(path).await?.replace_text(path, was, text).await
    }

    async fn reload_text(&self, path: &AbsPath, shown: &str, on_disk: &str) -> Result<(), SystemError> {
        self.to_change(path).await?.reload_text(path, shown, on_disk).await
    }

    async fn set_executable(&self, path: &AbsPath, executable: bool) -> Result<(), SystemError> {
        self.to_change(path).await?.set_executable(path, executable).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        self.to_read(path).await?.metadata(path).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        self.to_read(path).await?.read_dir(path).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.to_change(path).await?.create_dir_all(path).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.to_change(path).await?.remove(path).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        self.to_change(from).await?;
        self.to_change(to).await?.rename(from, to).await
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        self.inner.resolve(path).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        self.to_read(root).await?.walk(root, options).await
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
        self.inner.spawn(command).await
    }

    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        self.inner.spawn_piped(command).await
    }

    async fn named_by_git(&self, roots: &[AbsPath], directory: &AbsPath) -> GitNames {
        self.inner.named_by_git(roots, directory).await
    }

    async fn open_changes(&self, copies: &AbsPath) -> Vec<ControlChange> {
        self.inner.open_changes(copies).await
    }

    async fn carry_over(&self, change: &ControlChange) -> Result<(), SystemError> {
        self.inner.carry_over(change).await
    }

    async fn sweep(&self, sandbox: &Sandbox) {
        self.inner.sweep(sandbox).await;
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

    fn today(&self) -> Option<String> {
        self.inner.today()
    }

    fn editor_is_remote(&self) -> bool {
        self.inner.editor_is_remote()
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        match self.at(path).await {
            Some(system) => system.read_text_on_disk(path).await,
            None => Ok(None),
        }
    }

    async fn read_disk_snapshot(&self, path: &AbsPath) -> DiskSnapshot {
        match self.at(path).await {
            Some(system) => system.read_disk_snapshot(path).await,
            None => DiskSnapshot {
                text: Ok(None),
                marked: false,
                encoding: crate::TextEncoding::default(),
                metadata: Err(SystemError::NotFound(path.clone())),
            },
        }
    }

    fn pinned(&self, pins: Pins) -> Option<Arc<dyn System>> {
        Some(Arc::new(Self { inner: self.inner.clone(), directories: self.directories.clone(), pins }))
    }

    fn shell(&self) -> ShellProgram {
        self.inner.shell()
    }

    async fn sandbox_support(&self) -> SandboxSupport {
        self.inner.sandbox_support().await
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests look at the disk from outside of the system")]
mod tests {
    use super::*;
    use crate::{
        LocalSystem,
        contract::{self, Processes, Subject},
    };
    use std::os::unix::fs::symlink;

    /// A directory with the files of a user, and beside it one with those of another.
    struct Stage {
        _directory: tempfile::TempDir,
        own: AbsPath,
        other: AbsPath,
        system: Within,
    }

    fn stage() -> Stage {
        let directory = tempfile::tempdir().unwrap();
        let root = AbsPath::new(directory.path().to_str().unwrap()).unwrap();
        let (own, other) = (root.join("own"), root.join("other"));
        for folder in [&own, &other] {
            std::fs::create_dir(folder.as_std()).unwrap();
            std::fs::write(folder.join("file").as_std(), "text").unwrap();
        }
        symlink(other.as_std(), own.join("link").as_std()).unwrap();
        symlink(other.join("file").as_std(), own.join("linked").as_std()).unwrap();
        symlink(other.join("new").as_std(), own.join("dangling").as_std()).unwrap();
        symlink(own.join("file").as_std(), other.join("back").as_std()).unwrap();
        let system = Within::new(Arc::new(LocalSystem::new()), vec![own.clone()]);
        Stage { _directory: directory, own, other, system }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn keeps_the_contract() {
        let subject = || {
            let keep = tempfile::tempdir().unwrap();
            let root = AbsPath::from_os(&keep.path().canonicalize().unwrap()).unwrap();
            let local: Arc<dyn System> = Arc::new(LocalSystem::new());
            Subject {
                system: Arc::new(Within::new(local.clone(), vec![root.clone()])),
                setup: local,
                root,
                writes: true,
                link: Some(Box::new(|path, target| symlink(target, path.as_std()).unwrap())),
                processes: Processes::Real,
                keep: Box::new(keep),
            }
        };
        let ran = contract::check(async || subject()).await;
        assert!(ran.len() > 40, "{ran:?}");
    }

    fn is_missing<T>(result: Result<T, SystemError>) -> bool {
        matches!(result, Err(SystemError::NotFound(_)))
    }

    fn is_refused(result: Result<(), SystemError>) -> bool {
        matches!(result, Err(SystemError::NotWithin(_)))
    }

    #[tokio::test]
    async fn what_is_outside_does_not_exist_and_cannot_be_changed() {
        let Stage { own, other, system, .. } = &stage();
        for path in [
            other.join("file"),
            other.join("missing"),
            own.join("link/file"),
            own.join("link"),
            own.join("linked"),
            own.join("../other/file"),
            own.join("dangling"),
        ] {
            assert!(is_missing(system.read(&path).await), "{path}");
            assert!(is_missing(system.read_text(&path, None).await), "{path}");
            assert!(is_missing(system.metadata(&path).await), "{path}");
            assert!(is_missing(system.read_dir(&path).await), "{path}");
            let walk = WalkOptions { limit: 9, include_ignored: true };
            assert!(is_missing(system.walk(&path, walk).await), "{path}");
            assert_eq!(system.read_text_on_disk(&path).await.unwrap(), None);
            assert_eq!(system.read_disk_snapshot(&path).await.text.unwrap(), None);
            assert!(is_refused(system.write(&path, b"changed").await), "{path}");
            assert!(is_refused(system.replace_text(&path, None, "changed").await), "{path}");
            assert!(is_refused(system.write_private(&path, b"changed").await), "{path}");
            assert!(is_refused(system.write_own(&path, b"changed").await), "{path}");
            assert!(is_refused(system.create_dir_all(&path).await), "{path}");
            assert!(is_refused(system.rename(&path, &own.join("moved")).await), "{path}");
            assert!(is_refused(system.rename(&own.join("file"), &path).await), "{path}");
        }
        assert!(is_refused(system.remove(&other.join("file")).await));
        assert_eq!(std::fs::read_to_string(other.join("file").as_std()).unwrap(), "text");
        assert!(!other.join("new").as_std().exists());
    }

    #[tokio::test]
    async fn what_is_inside_is_read_and_changed_under_every_name() {
        let Stage { own, other, system, .. } = &stage();
        assert_eq!(system.read_text(&own.join("../own/file"), None).await.unwrap(), "text");
        assert_eq!(system.read_text(&other.join("back"), None).await.unwrap(), "text");
        system.create_dir_all(&own.join("a/b")).await.unwrap();
        system.replace_text(&own.join("a/b/new"), None, "new").await.unwrap();
        system.rename(&own.join("a/b/new"), &own.join("a/moved")).await.unwrap();
        assert_eq!(system.read(&own.join("a/moved")).await.unwrap(), b"new");
        system.remove(&own.join("a/moved")).await.unwrap();
        assert!(is_missing(system.metadata(&own.join("a/moved")).await));
    }

    #[tokio::test]
    async fn the_pins_of_a_caller_hold_inside_the_directories_only() {
        let Stage { own, other, system, .. } = &stage();
        let file = own.join("file");
        let pinned_to = |target: AbsPath| {
            system.pinned(Pins { places: vec![(file.clone(), target)], ..Pins::default() }).unwrap()
        };
        pinned_to(own.join("elsewhere")).replace_text(&file, None, "changed").await.unwrap();
        assert_eq!(std::fs::read_to_string(own.join("elsewhere").as_std()).unwrap(), "changed");
        assert_eq!(std::fs::read_to_string(file.as_std()).unwrap(), "text");
        let outside = pinned_to(other.join("file"));
        assert!(is_refused(outside.replace_text(&file, None, "changed").await));
        assert!(is_missing(outside.read(&file).await));
    }
}
