//! What this process would leave behind if it were killed: noted before it comes to be, so that the
//! next process of this user removes it, and nothing else.
//!
//! Notes are a file in a folder of this user alone, `/var/tmp/tiller-UID/run`. Its name is a mark,
//! 128 random bits; its owner holds a lock on it, which the kernel gives back however the owner
//! ends. What is temporary has the mark in its name, and the notes say in which folders there may
//! be such names. So whose notes can be locked has ended, and what has its mark in one of its
//! folders is its own: nobody could know the mark before. See [`sweep`] for how it is removed.
//!
//! Processes are not told apart by their numbers: those are given out again, and containers that
//! share the folder have numbers of their own.

mod sweep;
#[cfg(test)]
mod tests;

pub(super) use sweep::sweep;

use super::launch::private_directory;
use super::place::Place;
use crate::AbsPath;
use crate::limits::{TEMPORARY_TRIES, TOKEN_BYTES};
use rustix::fs::{FlockOperation, flock, fstat};
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What comes before and behind the mark in the name of a temporary file.
const FILE_NAME: (&str, &str) = (".tiller-", ".tmp");
/// What comes before the mark in the name of a temporary folder.
const FOLDER_NAME: &str = "tiller-";
/// The characters of a mark, and of what follows it in a name.
const TOKEN_CHARS: usize = TOKEN_BYTES * 2;

/// The notes of a [`super::LocalSystem`] and its clones; begun when there is something to note.
#[derive(Debug, Default)]
pub(super) struct Leftovers {
    /// `None` where notes cannot be kept, which was said then.
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
    /// Whether something may be left when this process ends.
    left: bool,
}

impl Leftovers {
    /// A name for a temporary file in the folder of a place. What has that name is removed by a
    /// later process if this one is killed.
    pub(super) fn file_name(&self, place: &Place) -> io::Result<String> {
        let folder = place.path.parent();
        let mark = folder.map_or("", |folder| self.mark_in(&place.folder, &folder));
        Ok(format!("{}{mark}{}{}", FILE_NAME.0, token()?, FILE_NAME.1))
    }

    /// The mark, once the folder is noted; empty where it cannot be.
    fn mark_in(&self, folder: impl AsFd, path: &AbsPath) -> &str {
        let Some(notes) = self.notes() else { return "" };
        match notes.note(folder, path) {
            Ok(()) => &notes.mark,
            Err(error) => {
                tracing::debug!(%error, %path, "a folder with temporary files could not be noted");
                ""
            }
        }
    }

    /// A path for a socket that this user alone can reach.
    pub(super) fn socket_path(&self) -> io::Result<AbsPath> {
        let notes = self.notes().ok_or(io::ErrorKind::Unsupported)?;
        Ok(notes.run.join(format!("{}-{}", notes.mark, token()?)))
    }

    /// Something that is noted may still be there when this process ends: a later one looks for it.
    pub(super) fn leave(&self) {
        if let Some(Some(notes)) = self.notes.get() {
            notes.lock().left = true;
        }
    }

    fn notes(&self) -> Option<&Notes> {
        let begin = || {
            run_folder()
                .and_then(|run| Notes::begin(&run))
                .inspect_err(|error| {
                    tracing::debug!(%error, "what a killed process leaves behind would stay");
                })
                .ok()
        };
        self.notes.get_or_init(begin).as_ref()
    }
}

impl Notes {
    fn begin(run: &AbsPath) -> io::Result<Self> {
        private_directory(run)?;
        for _ in 0..TEMPORARY_TRIES {
            let mark = token()?;
            let path = run.join(&mark);
            let mut options = File::options();
            let file = options.read(true).append(true).create_new(true).mode(0o600).open(path.as_std())?;
            // Another process may have seen it before it was locked, and removed it.
            let locked = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
            if locked && file.metadata()?.nlink() > 0 {
                let state = Mutex::new(State { file, noted: HashSet::new(), left: false });
                return Ok(Self { run: run.clone(), mark, state });
            }
        }
        Err(io::Error::other("other processes removed the notes"))
    }

    /// Writes down that temporary names may be in a folder; on the disk when this returns. A folder
    /// is known by its path, its device and its number.
    fn note(&self, folder: impl AsFd, path: &AbsPath) -> io::Result<()> {
        let found = fstat(folder)?;
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

/// No path has it.
const RECORD_END: u8 = 0;

impl Drop for Notes {
    /// What is temporary removes itself before.
    fn drop(&mut self) {
        if !self.lock().left {
            fs::remove_file(self.run.join(&self.mark).as_std()).ok();
        }
    }
}

/// Where notes and sockets are.
fn run_folder() -> io::Result<AbsPath> {
    let base = AbsPath::from_os(&fs::canonicalize("/var/tmp")?).map_err(io::Error::other)?;
    let user = rustix::process::geteuid().as_raw();
    Ok(base.join(format!("tiller-{user}/run")))
}

/// Random bits as hexadecimal digits.
fn token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A temporary folder of this process, for its owner only. Removed when it is dropped; a later
/// process removes it if this one is killed, or if a thread of this one made it again meanwhile.
#[derive(Debug)]
pub struct TemporaryFolder {
    path: PathBuf,
    kept: bool,
    leftovers: Leftovers,
}

impl TemporaryFolder {
    /// Makes one where the system keeps temporary files.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> io::Result<Self> {
        Self::below(&fs::canonicalize(std::env::temp_dir())?, Leftovers::default())
    }

    fn below(above: &Path, leftovers: Leftovers) -> io::Result<Self> {
        let mark = match AbsPath::from_os(above) {
            Ok(path) => leftovers.mark_in(File::open(above)?, &path),
            Err(_) => "",
        };
        let path = above.join(format!("{FOLDER_NAME}{mark}{}", token()?));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path, kept: false, leftovers })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder where it is, for good.
    pub fn keep(mut self) -> PathBuf {
        self.kept = true;
        self.path.clone()
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::debug!(%error, folder = %self.path.display(), "a temporary folder is left to a later process");
        }
        // A thread that ends later may make the folder, or a file in it, once more.
        self.leftovers.leave();
    }
}
