//! Access to directories whose modes keep their owner out. A command can set every mode of the
//! user's files, and what it leaves is found and disabled whatever the modes are.

use super::directory::DIRECTORY_FLAGS;
use crate::AbsPath;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::geteuid;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The permission bits with which its owner can list, change and search a directory.
const OWNER: u32 = 0o700;

/// The number of times that an action is repeated. Another process may set a mode in between.
const TRIES: usize = 3;

/// The directories that are open, by device and inode.
static OPEN: LazyLock<Mutex<HashMap<(u64, u64), Open>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Open {
    directory: File,
    /// The mode that it had.
    before: u32,
    /// The number of [`Opened`] that need it.
    users: usize,
}

/// Does something with what is at a path. If modes forbid it, it is done again while the
/// directories of the path are [`Opened`].
pub(super) fn with_access<T>(path: &AbsPath, mut act: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let is_denied =
        |done: &io::Result<T>| done.as_ref().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
    let mut done = act();
    for _ in 0..TRIES {
        if !is_denied(&done) {
            break;
        }
        let opened = Opened::along(path);
        if opened.0.is_empty() {
            break;
        }
        done = act();
    }
    done
}

/// The directories of a path, which their owner can list, change and search until it is dropped.
/// Then they have the modes that they had.
#[derive(Debug)]
pub(super) struct Opened(Vec<(u64, u64)>);

impl Opened {
    /// Opens the directories of a path without links that belong to the user, and the one at the
    /// path if it is one.
    pub(super) fn along(path: &AbsPath) -> Self {
        let flags = DIRECTORY_FLAGS | OFlags::NOFOLLOW;
        #[cfg(target_os = "linux")]
        let flags = flags | OFlags::PATH;
        let mut opened = Self(Vec::new());
        let mut names = path.as_std().iter();
        let mut next = names.next().map(|root| openat(CWD, root, flags, Mode::empty()).map(File::from));
        while let Some(Ok(directory)) = next {
            opened.0.extend(open(&directory).ok().flatten());
            next = names.next().map(|name| openat(&directory, name, flags, Mode::empty()).map(File::from));
        }
        opened
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        for id in &self.0 {
            let Some(open) = all.get_mut(id) else { continue };
            open.users -= 1;
            if open.users == 0 {
                // A mode that was set meanwhile stays.
                let is_ours = |now: Metadata| mode(&now) == open.before | OWNER;
                if open.directory.metadata().is_ok_and(is_ours) {
                    set_mode(&open.directory, open.before).ok();
                }
                all.remove(id);
            }
        }
    }
}

/// Opens a directory of the user to its owner. Returns its device and inode if it has to be closed.
fn open(directory: &File) -> io::Result<Option<(u64, u64)>> {
    let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = directory.metadata()?;
    let (id, before) = ((found.dev(), found.ino()), mode(&found));
    let is_open = before & OWNER == OWNER;
    if found.uid() != geteuid().as_raw() {
        return Ok(None);
    }
    if !is_open {
        set_mode(directory, before | OWNER)?;
    }
    match all.get_mut(&id) {
        Some(open) => open.users += 1,
        None if is_open => return Ok(None),
        None => {
            let directory = directory.try_clone()?;
            all.insert(id, Open { directory, before, users: 1 });
        }
    }
    Ok(Some(id))
}

fn mode(found: &Metadata) -> u32 {
    found.mode() & 0o7777
}

#[cfg(target_os = "linux")]
fn set_mode(directory: &File, mode: u32) -> io::Result<()> {
    // A descriptor that is only for a path cannot change a mode, and its path in `/proc` can.
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(directory));
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(not(target_os = "linux"))]
fn set_mode(directory: &File, mode: u32) -> io::Result<()> {
    Ok(rustix::fs::fchmod(directory, Mode::from_raw_mode(mode as _))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn mode_of(path: &AbsPath) -> u32 {
        fs::metadata(path.as_std()).unwrap().mode() & 0o777
    }

    fn close(path: &AbsPath, mode: u32) {
        fs::set_permissions(path.as_std(), Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn opened_directories_get_their_modes_back() {
        let top = tempfile::tempdir().unwrap();
        let outer = AbsPath::from_os(&top.path().canonicalize().unwrap()).unwrap().join("outer");
        let inner = outer.join("inner");
        fs::create_dir_all(inner.as_std()).unwrap();
        close(&inner, 0o010);
        close(&outer, 0);
        let first = Opened::along(&inner);
        let second = Opened::along(&inner);
        drop(first);
        assert_eq!((mode_of(&outer), mode_of(&inner)), (0o700, 0o710));
        drop(second);
        assert_eq!(mode_of(&outer), 0);
        close(&outer, 0o755);
        assert_eq!(mode_of(&inner), 0o010);
        assert_eq!(Opened::along(&outer).0.len(), 0);
    }

    #[test]
    fn a_mode_that_is_set_meanwhile_stays() {
        let top = tempfile::tempdir().unwrap();
        let path = AbsPath::from_os(&top.path().canonicalize().unwrap()).unwrap();
        close(&path, 0o500);
        let opened = Opened::along(&path);
        close(&path, 0o755);
        drop(opened);
        assert_eq!(mode_of(&path), 0o755);
    }
}
