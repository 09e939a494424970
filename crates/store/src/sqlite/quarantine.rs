//! A file that is damaged as a whole: it is moved aside, with what belongs to it, and told of. Nothing is deleted.

use agent::StoreError;
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// Keeps others from moving the file aside until it is dropped: whoever opened the file meanwhile would go on with the old one, and with the
/// write-ahead log of the new one. `None` where no such lock can be had: there is no folder yet, or nothing can be written to it.
pub(super) fn share(path: &Path) -> Result<Option<File>, StoreError> {
    let locked = lock_file(path).and_then(|file| file.lock_shared().map(|()| file));
    match locked {
        Ok(file) => Ok(Some(file)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(failed(path, &error)),
    }
}

/// Keeps others from opening the file, and from moving it aside, until it is dropped.
pub(super) fn lock(path: &Path) -> Result<File, StoreError> {
    let locked = lock_file(path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| failed(path, &error))
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(with(path, ".lock"))
}

/// Moves the file and its write-ahead log aside. Whoever has them open goes on with what was moved.
pub(super) fn move_aside(path: &Path, why: &rusqlite::Error) -> Result<(), StoreError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let aside = with(path, &format!(".damaged-{now}"));
    for suffix in ["-wal", "-shm", ""] {
        match rename(&with(path, suffix), &with(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(path, &error)),
            _ => {}
        }
    }
    tracing::warn!(
        "the session database was damaged ({why}) and is now {}; a fresh one was begun, and nothing was deleted. \
         `sqlite3 FILE .recover` may get sessions back",
        aside.display()
    );
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

fn with(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn failed(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Io(format!(
        "{} is damaged and cannot be moved away: {error}; move it by hand",
        path.display()
    ))
}
