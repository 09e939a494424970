//! Which file a path names, so that a file that was deleted, moved or replaced while it was open is
//! noticed.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The file that a path named at one moment: its device, its inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

/// What became of an open file at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It is where it was.
    Kept,
    /// It was cut to 0 bytes.
    Emptied,
    /// There is no file at its path any more, or another one.
    Moved,
}

/// The file at a path; `None` when there is none, or its folder cannot be read.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    metadata(path).ok().map(|found| Identity(found.dev(), found.ino()))
}

/// Whether there is no file at this path.
pub(super) fn is_missing(path: &Path) -> bool {
    metadata(path).is_err_and(|error| is_of_missing(&error))
}

/// Whether an error says that there is no file at a path. A folder that cannot be searched for a
/// moment says nothing of the file.
fn is_of_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What became of the file that was at this path.
pub(super) fn place(path: &Path, was: Identity) -> Place {
    match metadata(path) {
        Ok(found) if Identity(found.dev(), found.ino()) != was => Place::Moved,
        Ok(found) if found.len() == 0 => Place::Emptied,
        Ok(_) => Place::Kept,
        Err(error) if is_of_missing(&error) => Place::Moved,
        Err(_) => Place::Kept,
    }
}

/// Bytes of the file at a path; `None` when there is none, or no file.
pub(super) fn length(path: &Path) -> Option<u64> {
    metadata(path).ok().filter(Metadata::is_file).map(|found| found.len())
}

/// The path with something after its name: where a file's companions are.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn metadata(path: &Path) -> io::Result<Metadata> {
    fs::metadata(path)
}
