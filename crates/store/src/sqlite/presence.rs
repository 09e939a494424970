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
const FOLDER: &str = "holders";
/// How many times a new file is created if another process removes it as a leftover in the moment
/// before it is locked.
const TRIES: usize = 10;

/// A store's holder, and its locked file once it has one.
pub(super) struct Presence {
    pub(super) holder: Holder,
    folder: PathBuf,
    file: Mutex<Option<LockedFile>>,
    /// Guards the one-time warning that files cannot be locked.
    told: Once,
}

/// The state of a holder's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// The holder is alive.
    Taken,
    /// The holder is dead, provided that it ran on a machine whose locks are visible here.
    Free,
    /// The lock cannot be tested.
    Unknown,
}

impl Presence {
    /// Creates the presence of a holder beside the database at `path`. Accesses no file yet.
    pub(super) fn new(path: &Path, holder: Holder) -> Self {
        let folder = path.parent().unwrap_or(Path::new("")).join(FOLDER);
        Self { holder, folder, file: Mutex::new(None), told: Once::new() }
    }

    /// Locks this holder's file and returns its name. Must precede taking the lease. Creating the
    /// file also removes those of dead holders. Returns `None` if files cannot be locked.
    pub(super) fn announce(&self) -> Option<String> {
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
                self.told.call_once(|| {
                    tracing::warn!(
                        "no file can be locked in {} ({error}): whether a process that has a session open still runs is \
                         told by its number and the moment it started",
                        self.folder.display()
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
    pub(super) fn look(&self, name: &str) -> Lock {
        if !self.holder.machine.locks {
            return Lock::Unknown;
        }
        let file = match open(&self.folder.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Lock::Free,
            Err(_) => return Lock::Unknown,
        };
        // A shared lock, so that two processes that test at the same time do not take each other
        // for the holder.
        match file.try_lock_shared() {
            Ok(()) => Lock::Free,
            Err(TryLockError::WouldBlock) => Lock::Taken,
            Err(TryLockError::Error(_)) => Lock::Unknown,
        }
    }

    fn lock_new_file(&self) -> io::Result<LockedFile> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        for _ in 0..TRIES {
            let name = format!("{}.{}", self.holder.process, COUNT.fetch_add(1, Ordering::Relaxed));
            let path = self.folder.join(&name);
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
        Err(io::Error::other("others remove the file before it is locked"))
    }

    /// Removes the files of dead holders of this machine. Other machines remove their own, since
    /// their locks may be invisible here.
    fn sweep(&self) {
        let leftover = |entry: &DirEntry| {
            let mut marks = String::new();
            let name = entry.file_name();
            self.look(&name.to_string_lossy()) == Lock::Free
                && open(&entry.path()).is_ok_and(|file| file.take(4096).read_to_string(&mut marks).is_ok())
                && marks.lines().next().is_some_and(|marks| self.holder.machine.has_one_of(marks))
        };
        for entry in entries(&self.folder).filter(leftover) {
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
fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}
