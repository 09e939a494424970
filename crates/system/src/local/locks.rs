//! Locks by which the processes of this user change a file one at a time.
//!
//! A lock is a file in a directory that only this user can access, named by a hash of the path. The
//! kernel releases it however its holder ends. The file is removed by its holder, so a process that
//! locks a removed one tries again.

use super::{leftovers, private_directory};
use crate::{
    AbsPath, SystemError,
    limits::{CLAIM_PAUSE, CLAIM_PAUSE_MAX, CLAIM_WAIT, MOMENT_PAUSE, MOMENT_WAIT},
};
use std::{
    fs::{File, TryLockError},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
};
use tokio::time::Instant;

/// A lock that is held until this value is dropped.
#[derive(Debug)]
pub(super) struct PathLock {
    path: AbsPath,
    _file: File,
}

impl Drop for PathLock {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(self.path.as_std()) {
            tracing::debug!(%error, path = %self.path, "a lock could not be removed");
        }
    }
}

/// Locks files, given by their resolved paths in sorted order. Where locks are not available, the
/// files stay unlocked.
///
/// # Errors
/// [`SystemError::Busy`] if another process holds a lock for too long.
pub(super) async fn lock_all(files: &[AbsPath]) -> Result<Vec<PathLock>, SystemError> {
    let directory = match directory() {
        Ok(directory) => directory,
        Err(error) => return Ok(unlocked(&error)),
    };
    let mut names: Vec<_> = files.iter().map(|file| (directory.join(name(file)), file)).collect();
    names.sort();
    names.dedup_by(|a, b| a.0 == b.0);
    let mut locks = Vec::with_capacity(names.len());
    for (path, file) in names {
        match lock(&path, file).await? {
            Ok(lock) => locks.push(lock),
            Err(error) => return Ok(unlocked(&error)),
        }
    }
    Ok(locks)
}

/// Locks a file, given by its resolved path, for the moment between the comparison of its content
/// and its replacement. Blocks. Returns `None` where locks are not available.
///
/// # Errors
/// [`SystemError::Busy`] if another process holds the lock for too long, which only one that was
/// stopped does.
pub(super) fn lock_moment(file: &AbsPath) -> Result<Option<PathLock>, SystemError> {
    let locked = directory().and_then(|directory| {
        let path = directory.join(format!("{}-moment", name(file)));
        let began = std::time::Instant::now();
        loop {
            match try_lock(&path)? {
                None if began.elapsed() < MOMENT_WAIT => std::thread::sleep(MOMENT_PAUSE),
                found => return Ok(found),
            }
        }
    });
    match locked {
        Ok(None) => Err(SystemError::Busy(file.clone())),
        Ok(lock) => Ok(lock),
        Err(error) => {
            unlocked(&error);
            Ok(None)
        }
    }
}

fn path() -> io::Result<AbsPath> {
    Ok(leftovers::user_directory()?.join("locks"))
}

fn directory() -> io::Result<AbsPath> {
    let directory = path()?;
    private_directory::create(&directory)?;
    Ok(directory)
}

/// Removes the locks of processes that were killed. Blocks.
pub(super) fn sweep() {
    let removed = path().and_then(|directory| {
        if !directory.as_std().is_dir() {
            return Ok(());
        }
        private_directory::create(&directory)?;
        for entry in std::fs::read_dir(directory.as_std())? {
            // A lock that no process holds is removed with its guard.
            if let Some(name) = entry?.file_name().to_str() {
                drop(try_lock(&directory.join(name))?);
            }
        }
        Ok(())
    });
    if let Err(error) = removed {
        tracing::debug!(%error, "locks of killed processes could not be removed");
    }
}

fn unlocked(error: &io::Error) -> Vec<PathLock> {
    tracing::debug!(%error, "files cannot be locked, so other processes do not wait");
    Vec::new()
}

async fn lock(path: &AbsPath, file: &AbsPath) -> Result<io::Result<PathLock>, SystemError> {
    let deadline = Instant::now() + CLAIM_WAIT;
    let mut pause = CLAIM_PAUSE;
    loop {
        match try_lock(path) {
            Ok(Some(lock)) => return Ok(Ok(lock)),
            Ok(None) if Instant::now() >= deadline => return Err(SystemError::Busy(file.clone())),
            Ok(None) => tokio::time::sleep(pause).await,
            Err(error) => return Ok(Err(error)),
        }
        pause = (pause * 2).min(CLAIM_PAUSE_MAX);
    }
}

/// Takes the lock; `None` if another process holds it, or has just removed it.
fn try_lock(path: &AbsPath) -> io::Result<Option<PathLock>> {
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(false).mode(0o600).open(path.as_std())?;
    match file.try_lock() {
        Ok(()) if file.metadata()?.nlink() > 0 => Ok(Some(PathLock { path: path.clone(), _file: file })),
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn name(file: &AbsPath) -> String {
    let mut hasher = DefaultHasher::new();
    file.as_str().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_locked_file_is_busy_until_it_is_released() {
        let file = AbsPath::new(format!("/locks/{}", std::process::id())).unwrap();
        let held = lock_all(std::slice::from_ref(&file)).await.unwrap();
        assert_eq!(held.len(), 1);
        let error = lock_all(std::slice::from_ref(&file)).await.unwrap_err();
        assert!(matches!(&error, SystemError::Busy(path) if *path == file), "{error}");
        let path = held[0].path.clone();
        drop(held);
        assert!(!path.as_std().exists());
        assert_eq!(lock_all(&[file]).await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn the_lock_of_a_killed_process_is_removed() {
        let file = AbsPath::new(format!("/killed/{}", std::process::id())).unwrap();
        let held = lock_all(std::slice::from_ref(&file)).await.unwrap();
        let left = AbsPath::new(format!("{}-left", held[0].path)).unwrap();
        std::fs::write(left.as_std(), "").unwrap();
        sweep();
        assert_eq!((held[0].path.as_std().exists(), left.as_std().exists()), (true, false));
    }
}
