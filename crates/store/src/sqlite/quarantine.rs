//! Quarantine for a damaged file: it is set aside with its companions, and another file takes its
//! place. Nothing is deleted, and an interrupted replacement is finished by the next process.

use super::{
    failure::{MOVE, lacks_locks},
    file_state::{beside, identity},
};
use crate::clock::now;
use agent::StoreError;
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// The suffix of a file that was set aside, followed by the time in milliseconds since the Unix
/// epoch.
const ASIDE: &str = ".damaged-";
/// The suffix of a complete file that will replace a damaged one, followed by the same number.
const FINISHED: &str = ".salvaged-";

/// Prevents other processes from setting the file aside until the lock is dropped. Without it, a
/// process that opens the file meanwhile would continue with the old file and the write-ahead log
/// of the new one. Returns `None` if the lock is unavailable: SQLite's own locks are still used,
/// and report an error if they are unavailable too.
pub(super) fn share(path: &Path) -> Option<File> {
    let locked = lock_file(path).and_then(|file| file.lock_shared().map(|()| file));
    locked
        .inspect_err(|error| tracing::debug!(%error, "the lock beside the session database is not used"))
        .ok()
}

/// Prevents other processes from opening the file and from setting it aside, until the lock is
/// dropped.
pub(super) fn lock(path: &Path) -> Result<File, StoreError> {
    lock_file(path).and_then(|file| file.lock().map(|()| file)).map_err(|error| {
        let lock = beside(path, ".lock");
        StoreError::Io(match lacks_locks(&error) {
            true => format!(
                "{} cannot be repaired in place: its file system does not support file locks ({error}); nothing was changed: {MOVE}",
                path.display()
            ),
            false => format!(
                "{} cannot be repaired: {} cannot be locked: {error}; check the owner of both and of their directory",
                path.display(),
                lock.display()
            ),
        })
    })
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(beside(path, ".lock"))
}

/// Sets the file aside with its write-ahead log, puts `finished` in its place, and returns the new
/// path of the damaged one. Processes that have it open keep the old file, and detect the change.
pub(super) fn replace(path: &Path, finished: &Path) -> Result<PathBuf, StoreError> {
    let now = now();
    // From here on, the next process would finish it after an interruption.
    let ready = beside(path, &format!("{FINISHED}{now}"));
    rename(finished, &ready).map_err(|error| cannot_set_aside(path, &error))?;
    put_in_place(path, &now.to_string())
}

/// Finishes an interrupted replacement: the damaged file was set aside, and the other one is ready.
pub(super) fn finish(path: &Path) -> Result<(), StoreError> {
    if identity(path).is_some() {
        return Ok(());
    }
    match numbers(path, FINISHED).pop() {
        Some(number) => put_in_place(path, &number).map(drop),
        None => Ok(()),
    }
}

fn put_in_place(path: &Path, number: &str) -> Result<PathBuf, StoreError> {
    let aside = beside(path, &format!("{ASIDE}{number}"));
    // The file first: while there is no file, the log cannot be taken for that of another file.
    for suffix in ["", "-wal", "-shm"] {
        match rename(&beside(path, suffix), &beside(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot_set_aside(path, &error));
            }
            _ => {}
        }
    }
    rename(&beside(path, &format!("{FINISHED}{number}")), path)
        .map_err(|error| cannot_set_aside(path, &error))?;
    sync_directory(path);
    Ok(aside)
}

/// Sets aside a write-ahead log whose file is gone: SQLite would delete it, or take it for the log
/// of the file at the path.
pub(super) fn set_log_aside(path: &Path) -> Result<(), StoreError> {
    let aside = beside(path, &format!("{ASIDE}{}", now()));
    for suffix in ["-wal", "-shm"] {
        match rename(&beside(path, suffix), &beside(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(cannot_set_aside(path, &error));
            }
            _ => {}
        }
    }
    tracing::warn!(
        "the write-ahead log {}-wal belonged to a file that no longer exists; it was not deleted but renamed to {}-wal",
        path.display(),
        aside.display()
    );
    Ok(())
}

/// Returns the files that were set aside, the oldest first.
pub(super) fn set_aside(path: &Path) -> Vec<PathBuf> {
    numbers(path, ASIDE).iter().map(|number| beside(path, &format!("{ASIDE}{number}"))).collect()
}

/// Returns the numbers after a suffix of the file's name, in ascending order.
#[expect(clippy::disallowed_methods, reason = "the program's own directory, not one of the workspace")]
fn numbers(path: &Path, suffix: &str) -> Vec<String> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let before = format!("{}{suffix}", name.to_string_lossy());
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    let mut numbers: Vec<String> = names
        .filter_map(|name| name.strip_prefix(&before).map(str::to_owned))
        .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Flushes the new names to the disk.
#[expect(clippy::disallowed_methods, reason = "the program's own directory, not one of the workspace")]
fn sync_directory(path: &Path) {
    let synced =
        path.parent().map(|directory| File::open(directory).and_then(|directory| directory.sync_all()));
    if let Some(Err(error)) = synced {
        tracing::debug!(%error, "the directory of the session database could not be flushed");
    }
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

fn cannot_set_aside(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Io(format!(
        "{} is damaged and cannot be set aside: {error}; move it and the files beside it (-wal, -shm) yourself",
        path.display()
    ))
}
