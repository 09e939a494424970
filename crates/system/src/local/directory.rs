//! Opens and creates directories without following links.

use crate::AbsPath;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs;
use std::os::fd::OwnedFd;

/// Creates a directory and its parents without following links.
pub(super) fn create_directory(path: &AbsPath) -> rustix::io::Result<()> {
    match open_by_component(path, true) {
        Err(Errno::NOTDIR) if has_link_component(path) => Err(Errno::LOOP),
        Err(error) => Err(error),
        Ok(_) => Ok(()),
    }
}

/// The flags that open a directory.
pub(super) const DIRECTORY_FLAGS: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Opens a directory, as a handle for names in it, without following links.
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

/// Opens a directory, as a handle for names in it, without following links.
#[cfg(not(target_os = "linux"))]
pub(super) fn open_directory(path: &AbsPath) -> rustix::io::Result<OwnedFd> {
    open_by_component(path, false)
}

/// Opens a directory without following links, with one call per component.
pub(super) fn open_by_component(path: &AbsPath, make: bool) -> rustix::io::Result<OwnedFd> {
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
pub(super) fn has_link_component(path: &AbsPath) -> bool {
    let mut at = Some(path.clone());
    while let Some(path) = at {
        if fs::symlink_metadata(path.as_std()).is_ok_and(|found| found.is_symlink()) {
            return true;
        }
        at = path.parent();
    }
    false
}
