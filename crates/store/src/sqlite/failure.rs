//! What the errors of SQLite mean to the caller: what happened, to which file, and what can be
//! done.

use super::place::beside;
use crate::limits::BUSY_TIMEOUT;
use agent::StoreError;
use rusqlite::{Error, ErrorCode, ffi};
use rustix::{
    fs::{FlockOperation, fcntl_lock},
    io::Errno,
};
use std::{fs::OpenOptions, io, path::Path};

/// How the data folder is moved.
pub(super) const MOVE: &str =
    "keep the data folder on a local file system (set TILLER_HOME or XDG_DATA_HOME to a folder there)";

/// What errors call the file until they are [`named`].
const FILE: &str = "the session database";

/// What an error of SQLite means. It speaks of "the session database"; [`named`] says which.
pub(super) fn failed(error: &Error) -> StoreError {
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    let text = match error.sqlite_error_code() {
        _ if is_damaged(error) => return damaged(&error.to_string()),
        _ if is_of_locks(extended) => no_locks(&error.to_string()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
            locked()
        }
        Some(ErrorCode::DiskFull) => format!("the disk of {FILE} is full; free some space and try again"),
        Some(ErrorCode::ReadOnly) => format!(
            "{FILE} cannot be written; check who owns it and its folder, and whether the disk is mounted read-only"
        ),
        Some(ErrorCode::CannotOpen) => format!(
            "{FILE} cannot be opened ({error}); check that its folder exists, that the folder and the files \
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

/// What an error of the file at a path means.
pub(super) fn failed_at(path: &Path, error: &Error) -> StoreError {
    named(failed(error), path)
}

/// The same error with the file's path in it.
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

/// The file is damaged; `what` says where.
pub(super) fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!(
        "{FILE} is damaged ({what}); `tiller sessions repair` keeps what can be read and sets the damaged file aside"
    ))
}

fn locked() -> String {
    let seconds = BUSY_TIMEOUT.as_secs();
    format!("another process has locked {FILE} for more than {seconds} s; try again, or end that process")
}

/// Whether an error of SQLite says that the file is damaged.
pub(super) fn is_damaged(error: &Error) -> bool {
    match error {
        // The file is shorter than its own header says.
        Error::SqliteFailure(error, _) if error.extended_code == ffi::SQLITE_IOERR_SHORT_READ => true,
        // The search's own tables say it in words.
        Error::SqliteFailure(error, Some(text)) if error.code == ErrorCode::Unknown => {
            text.contains("invalid fts5 file format") || text.contains("vtable constructor failed")
        }
        _ => {
            matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
        }
    }
}

/// Whether an error of the system says that a file system has no locks.
pub(super) fn lacks_locks(error: &io::Error) -> bool {
    let lacking = [Errno::NOLCK, Errno::NOTSUP, Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL];
    Errno::from_io_error(error).is_some_and(|code| lacking.contains(&code))
}

/// What SQLite says where locks, or the memory it shares with other processes, cannot be had.
fn is_of_locks(extended: i32) -> bool {
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

/// Why there are no locks beside the file, if there are none: SQLite calls that a lock of another
/// process. The lock file is tried, never the database: closing that would drop the locks of this
/// process on it.
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
        for (code, says) in [
            (ffi::SQLITE_IOERR_READ, "check the disk"),
            (ffi::SQLITE_IOERR_FSYNC, "check the disk"),
            // What a disk without room says where the shared memory is to grow.
            (ffi::SQLITE_IOERR_SHMSIZE, "(space, quota"),
            (ffi::SQLITE_FULL, "free some space"),
            (ffi::SQLITE_BUSY, "end that process"),
            (ffi::SQLITE_PROTOCOL, "end that process"),
            (ffi::SQLITE_CANTOPEN, "check that its folder exists"),
            (ffi::SQLITE_READONLY, "check who owns it"),
            (ffi::SQLITE_IOERR_LOCK, "TILLER_HOME"),
            (ffi::SQLITE_IOERR_SHMMAP, "TILLER_HOME"),
            (ffi::SQLITE_CORRUPT, "tiller sessions repair"),
            (ffi::SQLITE_NOTADB, "tiller sessions repair"),
        ] {
            let message = failed_at(path, &sqlite(code)).to_string();
            assert!(message.contains("/data/sessions.db") && message.contains(says), "{code}: {message}");
        }
    }

    #[test]
    fn locks_that_the_file_system_lacks_are_no_damage() {
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
