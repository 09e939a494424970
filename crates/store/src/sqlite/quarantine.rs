//! A file that is damaged: it is set aside with what belongs to it, and another takes its place. Nothing is deleted, and a process that is
//! killed in the middle leaves nothing that the next one would not finish.

use super::{
    failure::{MOVE, lacks_locks},
    place::{beside, identity},
};
use agent::StoreError;
use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// What comes after the name of a file that was set aside; then when, in milliseconds since the epoch.
const ASIDE: &str = ".damaged-";
/// What comes after the name of a finished file that is to take the place of a damaged one; then the same number.
const FINISHED: &str = ".salvaged-";

/// Keeps others from setting the file aside until it is dropped: whoever opened the file meanwhile would go on with the old one, and
/// with the write-ahead log of the new one. `None` where no such lock can be had: SQLite's own are taken all the same, and say what is
/// wrong if they cannot be had either.
pub(super) fn share(path: &Path) -> Option<File> {
    let locked = lock_file(path).and_then(|file| file.lock_shared().map(|()| file));
    locked
        .inspect_err(|error| tracing::debug!(%error, "the lock beside the session database is not used"))
        .ok()
}

/// Keeps others from opening the file, and from setting it aside, until it is dropped.
pub(super) fn lock(path: &Path) -> Result<File, StoreError> {
    lock_file(path).and_then(|file| file.lock().map(|()| file)).map_err(|error| {
        let lock = beside(path, ".lock");
        StoreError::Io(match lacks_locks(&error) {
            true => format!(
                "{} cannot be repaired where it is: its file system has no file locks ({error}); nothing was changed: {MOVE}",
                path.display()
            ),
            false => format!(
                "{} cannot be repaired: {} cannot be locked: {error}; check the owner of both and of their folder",
                path.display(),
                lock.display()
            ),
        })
    })
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(beside(path, ".lock"))
}

/// Sets the file aside with its write-ahead log, puts `finished` in its place, and returns where the damaged one is. Whoever has it open
/// goes on with what was set aside, and notices.
pub(super) fn replace(path: &Path, finished: &Path) -> Result<PathBuf, StoreError> {
    let now = now();
    // From here on the next process would finish it.
    let ready = beside(path, &format!("{FINISHED}{now}"));
    rename(finished, &ready).map_err(|error| not_moved(path, &error))?;
    put_in_place(path, &now.to_string())
}

/// Finishes what a killed process began: the file was set aside, and the one that was to take its place is ready.
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
    // The file first: while it is gone, nobody takes the log for that of another file.
    for suffix in ["", "-wal", "-shm"] {
        match rename(&beside(path, suffix), &beside(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(not_moved(path, &error)),
            _ => {}
        }
    }
    rename(&beside(path, &format!("{FINISHED}{number}")), path).map_err(|error| not_moved(path, &error))?;
    sync_folder(path);
    Ok(aside)
}

/// Sets a write-ahead log aside that belongs to no file, or to one that is no longer there: SQLite would delete it, or take it for that of
/// the file at the path.
pub(super) fn set_log_aside(path: &Path) -> Result<(), StoreError> {
    let aside = beside(path, &format!("{ASIDE}{}", now()));
    for suffix in ["-wal", "-shm"] {
        match rename(&beside(path, suffix), &beside(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(not_moved(path, &error)),
            _ => {}
        }
    }
    tracing::warn!(
        "the write-ahead log {}-wal was left behind by a file that is gone; it was not deleted, it is {}-wal now",
        path.display(),
        aside.display()
    );
    Ok(())
}

/// The files that were set aside, the oldest first.
pub(super) fn set_aside(path: &Path) -> Vec<PathBuf> {
    numbers(path, ASIDE).iter().map(|number| beside(path, &format!("{ASIDE}{number}"))).collect()
}

/// The numbers after a suffix of the file's name, the smallest first.
#[expect(clippy::disallowed_methods, reason = "the program's own folder, not one of the workspace")]
fn numbers(path: &Path, suffix: &str) -> Vec<String> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Vec::new() };
    let before = format!("{}{suffix}", name.to_string_lossy());
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
    let mut numbers: Vec<String> = names
        .filter_map(|name| name.strip_prefix(&before).map(str::to_owned))
        .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    numbers.sort_unstable();
    numbers
}

/// Milliseconds since the epoch, to name a file after.
fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}

/// Takes the new names to the disk.
#[expect(clippy::disallowed_methods, reason = "the program's own folder, not one of the workspace")]
fn sync_folder(path: &Path) {
    let synced = path.parent().map(|folder| File::open(folder).and_then(|folder| folder.sync_all()));
    if let Some(Err(error)) = synced {
        tracing::debug!(%error, "the folder of the session database could not be flushed");
    }
}

#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

fn not_moved(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Io(format!(
        "{} is damaged and cannot be set aside: {error}; move it and the files beside it (-wal, -shm) by hand",
        path.display()
    ))
}
