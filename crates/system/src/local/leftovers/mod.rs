//! Notes about the temporary files, directories and sockets of this process, written before they
//! are created. If this process is killed, the next process of this user removes exactly those.
//!
//! Notes are a file in a directory that only this user can access, `/var/tmp/tiller-UID/run`. The
//! file's name is a mark of 128 random bits. Its owner holds a lock on it, which the kernel
//! releases however the owner ends. Temporary names contain the mark, and the notes list the
//! directories in which there may be such names. So if notes can be locked, their owner has ended,
//! and what has its mark in one of its directories belonged to it: no other process could know the
//! mark in advance. See [`sweep()`] for the removal.
//!
//! Processes are not identified by their PIDs: those are reused, and containers that share the
//! directory have PIDs of their own.

mod sweep;
#[cfg(test)]
mod tests;

pub(super) use sweep::sweep;

use super::entry::EntryHandle;
use super::private_directory;
use crate::AbsPath;
use crate::limits::{TEMPORARY_TRIES, TOKEN_BYTES};
use crate::text::hexadecimal;
use rustix::fs::{FlockOperation, flock, fstat};
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The parts of a temporary file's name before and after the mark.
const FILE_AFFIXES: (&str, &str) = (".tiller-", ".tmp");
/// The part of a temporary directory's name before the mark.
const DIRECTORY_PREFIX: &str = "tiller-";
/// The number of characters of a mark, and of the random part that follows it in a name.
const TOKEN_CHARS: usize = TOKEN_BYTES * 2;

/// The notes of a [`super::LocalSystem`] and its clones; created when there is something to note.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    /// `None` if notes cannot be kept, which was logged.
    notes: OnceLock<Option<Notes>>,
}

#[derive(Debug)]
struct Notes {
    run: AbsPath,
    mark: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    noted: HashSet<String>,
    /// Whether something temporary may exist after this process ends.
    left: bool,
}

impl Leftovers {
    /// Returns a name for a temporary file in the directory of a entry. If this process is killed,
    /// a later one removes the file with that name.
    pub(super) fn file_name(&self, entry: &EntryHandle) -> io::Result<String> {
        let directory = entry.path.parent();
        let mark = directory.map_or("", |directory| self.mark_in(&entry.directory, &directory));
        Ok(format!("{}{mark}{}{}", FILE_AFFIXES.0, token()?, FILE_AFFIXES.1))
    }

    /// Returns the mark after noting the directory; empty if the directory cannot be noted.
    fn mark_in(&self, directory: impl AsFd, path: &AbsPath) -> &str {
        let Some(notes) = self.notes() else { return "" };
        match notes.note(directory, path) {
            Ok(()) => &notes.mark,
            Err(error) => {
                tracing::debug!(%error, %path, "a directory with temporary files could not be recorded");
                ""
            }
        }
    }

    /// Returns a path for a socket that only this user can access.
    pub(super) fn socket_path(&self) -> io::Result<AbsPath> {
        let notes = self.notes().ok_or(io::ErrorKind::Unsupported)?;
        Ok(notes.run.join(format!("{}-{}", notes.mark, token()?)))
    }

    /// Keeps the notes when this process ends, because something noted may still exist; a later
    /// process looks for it.
    pub(super) fn leave(&self) {
        if let Some(Some(notes)) = self.notes.get() {
            notes.lock().left = true;
        }
    }

    fn notes(&self) -> Option<&Notes> {
        let begin = || {
            run_directory()
                .and_then(|run| Notes::begin(&run))
                .inspect_err(|error| {
                    tracing::debug!(%error, "notes cannot be kept, so files of a killed process would not be removed");
                })
                .ok()
        };
        self.notes.get_or_init(begin).as_ref()
    }
}

impl Notes {
    fn begin(run: &AbsPath) -> io::Result<Self> {
        private_directory::create(run)?;
        for _ in 0..TEMPORARY_TRIES {
            let mark = token()?;
            let path = run.join(&mark);
            let mut options = File::options();
            let file = options.read(true).append(true).create_new(true).mode(0o600).open(path.as_std())?;
            // Another process may have seen the file before it was locked, and removed it.
            let locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if locked && file.metadata()?.nlink() > 0 {
                let state = Mutex::new(State { file, noted: HashSet::new(), left: false });
                return Ok(Self { run: run.clone(), mark, state });
            }
        }
        Err(io::Error::other("other processes removed the notes"))
    }

    /// Records that a directory may contain temporary names; durable when this returns. The
    /// directory is identified by path, device and inode.
    fn note(&self, directory: impl AsFd, path: &AbsPath) -> io::Result<()> {
        let found = fstat(directory)?;
        let record = format!("{} {} {path}", found.st_dev, found.st_ino);
        let mut state = self.lock();
        if !state.noted.contains(&record) {
            state.file.write_all(record.as_bytes())?;
            state.file.write_all(&[RECORD_END])?;
            state.file.sync_data()?;
            state.noted.insert(record);
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The record separator; paths cannot contain it.
const RECORD_END: u8 = 0;

impl Drop for Notes {
    /// Removes the notes, unless something temporary may still exist. Temporary files are removed
    /// before this by their own `Drop`.
    fn drop(&mut self) {
        if !self.lock().left {
            fs::remove_file(self.run.join(&self.mark).as_std()).ok();
        }
    }
}

/// Returns the directory for notes and sockets.
fn run_directory() -> io::Result<AbsPath> {
    Ok(user_directory()?.join("run"))
}

/// Returns the directory for what this user's processes keep while they run.
pub(super) fn user_directory() -> io::Result<AbsPath> {
    let base = AbsPath::from_os(&fs::canonicalize("/var/tmp")?).map_err(io::Error::other)?;
    let user = rustix::process::geteuid().as_raw();
    Ok(base.join(format!("tiller-{user}")))
}

/// Returns random bits as hexadecimal digits.
fn token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hexadecimal(bytes))
}

/// A temporary directory of this process, accessible to its owner only. Removed on drop. A later
/// process removes it if this one is killed, or if another thread of this one has recreated it
/// meanwhile.
#[derive(Debug)]
pub struct TemporaryDirectory {
    path: PathBuf,
    kept: bool,
    leftovers: Leftovers,
}

impl TemporaryDirectory {
    /// Creates a directory in the system's directory for temporary files.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn new() -> io::Result<Self> {
        Self::below(&fs::canonicalize(std::env::temp_dir())?, Leftovers::default())
    }

    fn below(above: &Path, leftovers: Leftovers) -> io::Result<Self> {
        let mark = match AbsPath::from_os(above) {
            Ok(path) => leftovers.mark_in(File::open(above)?, &path),
            Err(_) => "",
        };
        let path = above.join(format!("{DIRECTORY_PREFIX}{mark}{}", token()?));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path, kept: false, leftovers })
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the directory permanently.
    pub fn keep(mut self) -> PathBuf {
        self.kept = true;
        self.path.clone()
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::debug!(%error, directory = %self.path.display(), "a temporary directory could not be removed; a later process removes it");
        }
        // Another thread that is still running may recreate the directory or a file in it.
        self.leftovers.leave();
    }
}
