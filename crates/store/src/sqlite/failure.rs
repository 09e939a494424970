//! Converts SQLite errors to messages for the caller: what happened, to which file, and what to do.

use super::file_state::beside;
use crate::limits::BUSY_TIMEOUT;
use agent::StoreError;
use rusqlite::{Error, ErrorCode, ffi};
use rustix::{
    fs::{FlockOperation, fcntl_lock},
    io::Errno,
};
use std::{fs::OpenOptions, io, path::Path};

/// The advice for moving the data directory.
pub(super) const MOVE: &str =
    "keep the data directory on a local file system (set TILLER_HOME or XDG_DATA_HOME to a directory there)";

/// The placeholder for the file's name in errors, until [`named`] adds the path.
const FILE: &str = "the session database";

/// Converts an SQLite error. The message contains the placeholder; [`named`] adds the path.
pub(super) fn failed(error: &Error) -> StoreError {
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    let text = match error.sqlite_error_code() {
        _ if is_damaged(error) => return damaged(&error.to_string()),
        _ if is_lock_error(extended) => no_locks(&error.to_string()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            locked()
        }
        Some(ErrorCode::DiskFull) => format!("the disk of {FILE} is full; free some space and try again"),
        Some(ErrorCode::ReadOnly) => format!(
            "{FILE} cannot be written; check who owns it and its directory, and whether the disk is mounted read-only"
        ),
        Some(ErrorCode::CannotOpen) => format!(
            "{FILE} cannot be opened ({error}); check that its directory exists, that the directory and the files \
             beside it (-wal, -shm) may be read and written, and that not too many files are open"
        ),
        Some(ErrorCode::SystemIoFailure) => format!(
            "{FILE} could not be read or written ({error}, code {extended}); check the disk it is on (space, quota, \
             errors in the system's log) and try again"
        ),
        _ => format!("{FILE}: {error}"),
    };
    StoreError::Io(text)
}

/// Converts an SQLite error and adds the file's path.
pub(super) fn failed_at(path: &Path, error: &Error) -> StoreError {
    named(failed(error), path)
}

/// Adds the file's path to an error.
pub(super) fn named(error: StoreError, path: &Path) -> StoreError {
    let with_path = |text: String| text.replacen(FILE, &format!("{FILE} {}", path.display()), 1);
    match error {
        StoreError::Io(text) if text == locked() => StoreError::Io(with_path(match lock_probe(path) {
            Some(error) => no_locks(&error.to_string()),
            None => text,
        })),
        StoreError::Io(text) if !text.contains(&*path.to_string_lossy()) => StoreError::Io(with_path(text)),
        StoreError::Damaged(text) if !text.contains(&*path.to_string_lossy()) => {
            StoreError::Damaged(with_path(text))
        }
        other => other,
    }
}

/// Returns the error for a damaged file; `what` states the location.
pub(super) fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!(
        "{FILE} is damaged ({what}); `tiller sessions repair` keeps what can be read and sets the damaged file aside"
    ))
}

fn locked() -> String {
    let seconds = BUSY_TIMEOUT.as_secs();
    format!("another process has locked {FILE} for more than {seconds} s; try again, or end that process")
}

/// Returns whether an SQLite error means that the file is damaged.
pub(super) fn is_damaged(error: &Error) -> bool {
    match error {
        // The file is shorter than its header states.
        Error::SqliteFailure(error, _) if error.extended_code == ffi::SQLITE_IOERR_SHORT_READ => true,
        // The full-text tables report it only in the message.
        Error::SqliteFailure(error, Some(text)) if error.code == ErrorCode::Unknown => {
            text.contains("invalid fts5 file format") || text.contains("vtable constructor failed")
        }
        _ => {
            matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        }
    }
}

/// Returns whether a system error means that the file system does not support locks.
pub(super) fn lacks_locks(error: &io::Error) -> bool {
    let lacking = [Errno::NOLCK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL];
    Errno::from_io_error(error).is_some_and(|code| lacking.contains(&code))
}

/// Returns whether SQLite's error code means that locks or shared memory are unavailable.
fn is_lock_error(extended: i32) -> bool {
    matches!(
        extended,
        ffi::SQLITE_IOERR_LOCK
            | ffi::SQLITE_IOERR_RDLOCK
            | ffi::SQLITE_IOERR_UNLOCK
            | ffi::SQLITE_IOERR_CHECKRESERVEDLOCK
            | ffi::SQLITE_IOERR_SHMOPEN
            | ffi::SQLITE_IOERR_SHMLOCK
            | ffi::SQLITE_IOERR_SHMMAP
            | ffi::SQLITE_NOLFS
    )
}

fn no_locks(error: &str) -> String {
    format!(
        "{FILE} is on a file system without file locks or shared memory ({error}); the file is not damaged, and \
         nothing was changed: {MOVE}"
    )
}

/// Returns why locks do not work beside the file, if they do not: SQLite reports that as a lock of
/// another process. Tests the lock file, never the database: closing the database would release
/// this process's locks on it.
fn lock_probe(path: &Path) -> Option<io::Error> {
    let file = OpenOptions::new().write(true).open(beside(path, ".lock")).ok()?;
    let error: io::Error = fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).err()?.into();
    lacks_locks(&error).then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite(extended: i32) -> Error {
        Error::SqliteFailure(ffi::Error::new(extended), None)
    }

    #[test]
    fn every_error_names_the_file_and_what_to_do() {
        let path = Path::new("/data/sessions.db");
        for (code, advice) in [
            (ffi::SQLITE_IOERR_READ, "check the disk"),
            (ffi::SQLITE_IOERR_FSYNC, "check the disk"),
            // SQLite's error if the disk is full when the shared memory has to grow.
            (ffi::SQLITE_IOERR_SHMSIZE, "(space, quota"),
            (ffi::SQLITE_FULL, "free some space"),
            (ffi::SQLITE_BUSY, "end that process"),
            (ffi::SQLITE_PROTOCOL, "end that process"),
            (ffi::SQLITE_CANTOPEN, "check that its directory exists"),
            (ffi::SQLITE_READONLY, "check who owns it"),
            (ffi::SQLITE_IOERR_LOCK, "TILLER_HOME"),
            (ffi::SQLITE_IOERR_SHMMAP, "TILLER_HOME"),
            (ffi::SQLITE_CORRUPT, "tiller sessions repair"),
            (ffi::SQLITE_NOTADB, "tiller sessions repair"),
        ] {
            let message = failed_at(path, &sqlite(code)).to_string();
            assert!(message.contains("/data/sessions.db") && message.contains(advice), "{code}: {message}");
        }
    }

    #[test]
    fn missing_lock_support_is_not_damage() {
        for code in [Errno::NOLCK, Errno::OPNOTSUPP, Errno::NOSYS] {
            assert!(lacks_locks(&code.into()), "{code}");
        }
        assert!(!lacks_locks(&Errno::AGAIN.into()) && !lacks_locks(&Errno::IO.into()));
        for code in [ffi::SQLITE_IOERR_LOCK, ffi::SQLITE_IOERR_SHMLOCK] {
            let error = failed_at(Path::new("/data/sessions.db"), &sqlite(code));
            assert!(matches!(&error, StoreError::Io(text) if text.contains("not damaged")), "{error}");
        }
    }
}
