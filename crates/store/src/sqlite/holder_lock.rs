//! A file that a process keeps locked as long as it may hold leases, and the evaluation of other
//! processes' locks.
//!
//! The operating system releases a lock when its process ends in any way, so a holder is alive
//! exactly as long as its file is locked. Reused process ids, zombies and host names do not matter.
//! Child processes do not inherit the lock: the file is closed when they execute their program.

use super::Holder;
use std::{
    fs::{self, DirBuilder, DirEntry, File, OpenOptions, TryLockError},
    io::{self, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{
        Mutex, Once, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// The directory of these files, beside the database.
const DIRECTORY: &str = "holders";
/// How many times a new file is created if another process removes it as a leftover in the moment
/// before it is locked.
const TRIES: usize = 10;

/// A store's holder, and its locked file once it has one.
pub(super) struct HolderLock {
    pub(super) holder: Holder,
    directory: PathBuf,
    file: Mutex<Option<LockedFile>>,
    /// Guards the one-time warning that files cannot be locked.
    warned: Once,
}

/// The state of a holder's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    /// The holder is alive.
    Taken,
    /// The holder is dead, provided that it ran on a machine whose locks are visible here.
    Free,
    /// The lock cannot be tested.
    Unknown,
}

impl HolderLock {
    /// Creates the presence of a holder beside the database at `path`. Accesses no file yet.
    pub(super) fn new(path: &Path, holder: Holder) -> Self {
        let directory = path.parent().unwrap_or(Path::new("")).join(DIRECTORY);
        Self { holder, directory, file: Mutex::new(None), warned: Once::new() }
    }

    /// Locks this holder's file and returns its name. Must precede taking the lease. Creating the
    /// file also removes those of dead holders. Returns `None` if files cannot be locked.
    pub(super) fn lock_own_file(&self) -> Option<String> {
        if !self.holder.machine.locks {
            return None;
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = file.as_ref().filter(|known| known.is_in_place()) {
            return Some(known.name.clone());
        }
        match self.lock_new_file() {
            Ok(locked) => {
                let name = locked.name.clone();
                *file = Some(locked);
                self.sweep();
                Some(name)
            }
            Err(error) => {
                self.warned.call_once(|| {
                    tracing::warn!(
                        "files in {} cannot be locked ({error}): whether a process that has a session open still runs is \
                         decided by its process id and start time",
                        self.directory.display()
                    );
                });
                None
            }
        }
    }

    /// Returns whether this process took the lock of this name, through any store.
    pub(super) fn is_own(&self, name: &str) -> bool {
        name.rsplit_once('.').is_some_and(|(process, _)| process == self.holder.process)
    }

    /// Returns the state of the lock of this name.
    pub(super) fn probe(&self, name: &str) -> LockState {
        if !self.holder.machine.locks {
            return LockState::Unknown;
        }
        let file = match open(&self.directory.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return LockState::Free,
            Err(_) => return LockState::Unknown,
        };
        // A shared lock, so that two processes that test at the same time do not take each other
        // for the holder.
        match file.try_lock_shared() {
            Ok(()) => LockState::Free,
            Err(TryLockError::WouldBlock) => LockState::Taken,
            Err(TryLockError::Error(_)) => LockState::Unknown,
        }
    }

    fn lock_new_file(&self) -> io::Result<LockedFile> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        match DirBuilder::new().mode(0o700).create(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        for _ in 0..TRIES {
            let name = format!("{}.{}", self.holder.process, COUNT.fetch_add(1, Ordering::Relaxed));
            let path = self.directory.join(&name);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            // The marks that identify it as a leftover of this machine are written before it is
            // locked, for processes that cannot see the lock.
            writeln!(file, "{}\n{}", self.holder.machine.marks.join(" "), self.holder)?;
            let locked = match file.try_lock() {
                Ok(()) => LockedFile { name, path, file },
                Err(TryLockError::WouldBlock) => continue,
                Err(TryLockError::Error(error)) => {
                    let _ = remove(&path);
                    return Err(error);
                }
            };
            // Another process may have removed it before it was locked.
            if locked.is_in_place() {
                return Ok(locked);
            }
        }
        Err(io::Error::other("other processes removed the file each time before it was locked"))
    }

    /// Removes the files of dead holders of this machine. Other machines remove their own, since
    /// their locks may be invisible here.
    fn sweep(&self) {
        let leftover = |entry: &DirEntry| {
            let mut marks = String::new();
            let name = entry.file_name();
            self.probe(&name.to_string_lossy()) == LockState::Free
                && open(&entry.path()).is_ok_and(|file| file.take(4096).read_to_string(&mut marks).is_ok())
                && marks.lines().next().is_some_and(|marks| self.holder.machine.shares_mark(marks))
        };
        for entry in entries(&self.directory).filter(leftover) {
            // Another process may have removed it first.
            let _ = remove(&entry.path());
        }
    }
}

/// A file that is locked until this value is dropped, which removes it.
struct LockedFile {
    name: String,
    path: PathBuf,
    file: File,
}

impl LockedFile {
    /// Returns whether other processes find this file under its name.
    fn is_in_place(&self) -> bool {
        let of = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|found| (found.dev(), found.ino()));
        of(self.path.symlink_metadata()).is_some_and(|found| of(self.file.metadata()) == Some(found))
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if self.is_in_place() {
            // If this fails, the next process removes it.
            let _ = remove(&self.path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // Opened for writing too: some network file systems lock nothing else.
    OpenOptions::new().read(true).write(true).open(path)
}

#[expect(clippy::disallowed_methods, reason = "the program's own files, not those of the workspace")]
fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}
