//! A file that a process keeps locked as long as it may hold leases, and what the locks of others
//! tell.
//!
//! The system drops a lock with its process, however that ends: a holder lives exactly as long as
//! its file is locked. No number that is used again, no zombie and no host name has a part in it.
//! Children do not inherit the lock: the file is closed when they execute their program.

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

/// The folder of these files, beside the database.
const FOLDER: &str = "holders";
/// How often a new file is made when somebody takes the one before for a leftover, in the moment
/// before it is locked.
const TRIES: usize = 10;

/// One store's holder, and its file once it has one.
pub(super) struct Presence {
    pub(super) holder: Holder,
    folder: PathBuf,
    file: Mutex<Option<LockedFile>>,
    /// Whether it was told that files cannot be locked.
    told: Once,
}

/// What a lock tells of its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// Its holder lives.
    Taken,
    /// Its holder is gone, if it ran on a machine whose locks are seen here.
    Free,
    /// It cannot be asked.
    Unknown,
}

impl Presence {
    /// The presence of a holder beside the database at `path`. Nothing is touched yet.
    pub(super) fn new(path: &Path, holder: Holder) -> Self {
        let folder = path.parent().unwrap_or(Path::new("")).join(FOLDER);
        Self { holder, folder, file: Mutex::new(None), told: Once::new() }
    }

    /// Locks this holder's file and returns its name; the lock is there before the lease is. What
    /// dead holders left is removed with the first. `None` where files cannot be locked.
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

    /// Whether a lock of this name was taken by this very process, through whatever store.
    pub(super) fn is_own(&self, name: &str) -> bool {
        name.rsplit_once('.').is_some_and(|(process, _)| process == self.holder.process)
    }

    /// What the lock of this name tells.
    pub(super) fn look(&self, name: &str) -> Lock {
        if !self.holder.machine.locks {
            return Lock::Unknown;
        }
        let file = match open(&self.folder.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Lock::Free,
            Err(_) => return Lock::Unknown,
        };
        // Shared, so that two who look at the same time do not take each other for the holder.
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
            // What makes it recognisable as a leftover of this machine comes before the lock, for
            // whoever cannot see the lock.
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

    /// Removes the files of dead holders of this machine. Those of others are theirs to remove:
    /// their locks may not be seen here.
    fn sweep(&self) {
        let leftover = |entry: &DirEntry| {
            let mut marks = String::new();
            let name = entry.file_name();
            self.look(&name.to_string_lossy()) == Lock::Free
                && open(&entry.path()).is_ok_and(|file| file.take(4096).read_to_string(&mut marks).is_ok())
                && marks.lines().next().is_some_and(|marks| self.holder.machine.has_one_of(marks))
        };
        for entry in entries(&self.folder).filter(leftover) {
            // Another process may have been first.
            let _ = remove(&entry.path());
        }
    }
}

/// A file that is locked until this is dropped, and gone then.
struct LockedFile {
    name: String,
    path: PathBuf,
    file: File,
}

impl LockedFile {
    /// Whether others find it under its name.
    fn is_in_place(&self) -> bool {
        let of = |metadata: io::Result<fs::Metadata>| metadata.ok().map(|found| (found.dev(), found.ino()));
        of(self.path.symlink_metadata()).is_some_and(|found| of(self.file.metadata()) == Some(found))
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if self.is_in_place() {
            // What stays is swept by the next process.
            let _ = remove(&self.path);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // For writing as well: some network file systems lock nothing else.
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
