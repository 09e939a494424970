//! The identity of the file at a path, to detect that an open file was deleted, moved or replaced.

use std::{
    fs::{self, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The identity of a file: its device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity(u64, u64);

/// The state of an open file at its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileState {
    /// It is unchanged.
    Kept,
    /// It was truncated to 0 bytes.
    Emptied,
    /// The path now names no file, or another one.
    Moved,
}

/// Returns the identity of the file at a path; `None` if there is none, or its directory is
/// inaccessible.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    metadata(path).ok().map(|found| Identity(found.dev(), found.ino()))
}

/// Returns whether there is no file at this path.
pub(super) fn is_missing(path: &Path) -> bool {
    metadata(path).is_err_and(|error| means_missing(&error))
}

/// Returns whether an error means that there is no file at a path. A directory that is temporarily
/// inaccessible means nothing for the file.
fn means_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Returns the state of the file that was at this path.
pub(super) fn file_state(path: &Path, was: Identity) -> FileState {
    match metadata(path) {
        Ok(found) if Identity(found.dev(), found.ino()) != was => FileState::Moved,
        Ok(found) if found.len() == 0 => FileState::Emptied,
        Ok(_) => FileState::Kept,
        Err(error) if means_missing(&error) => FileState::Moved,
        Err(_) => FileState::Kept,
    }
}

/// Returns the size in bytes of the file at a path; `None` if there is none, or it is not a regular
/// file.
pub(super) fn length(path: &Path) -> Option<u64> {
    metadata(path).ok().filter(Metadata::is_file).map(|found| found.len())
}

/// Returns whether an empty file is a store whose creation was interrupted: only then is there a
/// rollback journal beside it. Later changes use the write-ahead log, which is still empty.
pub(super) fn is_unfinished(path: &Path) -> bool {
    length(path) == Some(0)
        && length(&beside(path, "-journal")).is_some_and(|length| length > 0)
        && !has_log_content(path)
}

/// Returns whether the file at a path has a write-ahead log that is not empty.
pub(super) fn has_log_content(path: &Path) -> bool {
    length(&beside(path, "-wal")).is_some_and(|length| length > 0)
}

/// Appends a suffix to a path, for a file's companions.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn metadata(path: &Path) -> io::Result<Metadata> {
    fs::metadata(path)
}
