//! Opens directories without following links.

use crate::AbsPath;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::os::fd::OwnedFd;

/// The flags that open a directory.
pub(super) const DIRECTORY_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens a directory, as a handle for names in it, without following links. A link is
/// [`Errno::LOOP`].
#[cfg(target_os = "linux")]
pub(super) fn open_directory(path: &AbsPath) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::ResolveFlags;
    let flags = DIRECTORY_FLAGS | OFlags::PATH;
    match rustix::fs::openat2(CWD, path.as_std(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // The kernel is too old for `openat2`, or a container forbids it.
        Err(Errno::NOSYS | Errno::PERM) => open_by_component(path, false),
        opened => opened,
    }
}

/// Opens a directory, as a handle for names in it, without following links. A link is
/// [`Errno::LOOP`].
#[cfg(not(target_os = "linux"))]
pub(super) fn open_directory(path: &AbsPath) -> rustix::io::Result<OwnedFd> {
    open_by_component(path, false)
}

/// Opens a directory without following links, with one call per component; `make` creates those
/// that are missing. A link is [`Errno::LOOP`], as for `openat2`.
pub(super) fn open_by_component(path: &AbsPath, make: bool) -> rustix::io::Result<OwnedFd> {
    match open_each(path, make) {
        // The system reports that a link is no directory.
        Err(Errno::NOTDIR) if has_link_component(path) => Err(Errno::LOOP),
        opened => opened,
    }
}

fn open_each(path: &AbsPath, make: bool) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    let flags = DIRECTORY_FLAGS | OFlags::NOFOLLOW | OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let flags = DIRECTORY_FLAGS | OFlags::NOFOLLOW;
    let mut directory = rustix::fs::openat(CWD, "/", flags, Mode::empty())?;
    for name in path.as_std().iter().skip(1) {
        directory = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
            Err(Errno::NOENT) if make => {
                match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error),
                }
                rustix::fs::openat(&directory, name, flags, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(directory)
}

/// Returns whether a component of a path is a link now.
fn has_link_component(path: &AbsPath) -> bool {
    let mut at = Some(path.clone());
    while let Some(path) = at {
        if fs::symlink_metadata(path.as_std()).is_ok_and(|found| found.is_symlink()) {
            return true;
        }
        at = path.parent();
    }
    false
}
