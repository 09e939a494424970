//! Names that a confined command must not bring into being, taken by something empty while it runs.
//!
//! A mount can only stand on something that exists. So what must not come into being is there, empty, and covered for the command; when the last
//! command is done it is gone again. It is told from a person's own empty file by its age: one second after the beginning of time.

use crate::{AbsPath, Sandbox};
use rustix::fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

/// An empty file or folder that holds a name. Removed when nobody uses it any more.
#[derive(Debug)]
pub(super) struct Placeholder {
    pub(super) path: AbsPath,
    pub(super) is_folder: bool,
    /// Held with a shared lock: whoever removes it takes the lock for itself first, and so waits for nobody and disturbs nobody.
    held: OwnedFd,
}

/// The age of a placeholder, in seconds since 1970.
const MARK: i64 = crate::seam::PLACEHOLDER_SECONDS;

/// Takes the names that a sandbox reserves and that nothing has.
pub(super) fn reserve(sandbox: &Sandbox) -> Vec<Placeholder> {
    // Files first: one that lies in a reserved folder must not be made in the empty one.
    let files = sandbox.reserved_files.iter().chain(&sandbox.reserved_blanks).map(|path| (path, false));
    let folders = sandbox.reserved_folders.iter().map(|path| (path, true));
    files.chain(folders).filter_map(|(path, is_folder)| take(path, is_folder)).collect()
}

fn take(path: &AbsPath, is_folder: bool) -> Option<Placeholder> {
    // Another command's may be removed in between; then it is made anew.
    for _ in 0..3 {
        match fs::symlink_metadata(path.as_std()) {
            Ok(found) if is_ours(path, &found) && found.is_dir() == is_folder => {
                let held = open(path, OFlags::empty()).and_then(hold).ok()?;
                if has_name(&held, path) {
                    return Some(Placeholder { path: path.clone(), is_folder, held });
                }
            }
            // A person's own: it is guarded as it is.
            Ok(_) => return None,
            // Where nothing can be made here the command, which may do less, cannot either.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match make(path, is_folder) {
                Ok(held) if has_name(&held, path) => {
                    return Some(Placeholder { path: path.clone(), is_folder, held });
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(_) => return None,
            },
            Err(_) => return None,
        }
    }
    None
}

/// Makes a placeholder and takes hold of it.
fn make(path: &AbsPath, is_folder: bool) -> io::Result<OwnedFd> {
    let fd = match is_folder {
        true => fs::create_dir(path.as_std()).and_then(|()| open(path, OFlags::empty()))?,
        false => open(path, OFlags::CREATE | OFlags::EXCL)?,
    };
    let mark = Timespec { tv_sec: MARK, tv_nsec: 0 };
    let times = Timestamps { last_access: mark, last_modification: mark };
    rustix::fs::futimens(&fd, &times)?;
    hold(fd)
}

fn open(path: &AbsPath, more: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | more;
    Ok(rustix::fs::open(path.as_str(), flags, Mode::from_raw_mode(0o666))?)
}

fn hold(fd: OwnedFd) -> io::Result<OwnedFd> {
    rustix::fs::flock(&fd, FlockOperation::NonBlockingLockShared)?;
    Ok(fd)
}

/// What is locked may have lost its name by then.
fn has_name(held: &OwnedFd, path: &AbsPath) -> bool {
    let same = |now: fs::Metadata| rustix::fs::fstat(held).is_ok_and(|held| held.st_ino == now.ino());
    fs::symlink_metadata(path.as_std()).is_ok_and(same)
}

fn is_ours(path: &AbsPath, found: &fs::Metadata) -> bool {
    let empty = match found.is_dir() {
        true => fs::read_dir(path.as_std()).is_ok_and(|mut entries| entries.next().is_none()),
        false => found.is_file() && found.len() == 0,
    };
    empty && found.mtime() == MARK
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Somebody else still needs it, and removes it later.
        if rustix::fs::flock(&self.held, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let path = self.path.as_std();
        if !fs::symlink_metadata(path).is_ok_and(|found| is_ours(&self.path, &found)) {
            return;
        }
        let removed = if self.is_folder { fs::remove_dir(path) } else { fs::remove_file(path) };
        if let Err(error) = removed {
            tracing::debug!(%error, path = %self.path, "a placeholder could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_held_until_the_last_who_needs_it_and_what_a_person_made_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let (file, folder, own) = (top.join(".mcp.json"), top.join(".tiller"), top.join(".envrc"));
        fs::write(own.as_std(), "").unwrap();
        let sandbox = Sandbox {
            reserved_files: vec![file.clone(), own.clone(), top.join("none/x")],
            reserved_folders: vec![folder.clone()],
            ..Sandbox::default()
        };
        let first = reserve(&sandbox);
        assert_eq!(
            first.iter().map(|held| held.path.clone()).collect::<Vec<_>>(),
            [file.clone(), folder.clone()]
        );
        let second = reserve(&sandbox);
        assert_eq!(second.len(), 2);
        drop(first);
        assert!(file.as_std().exists() && folder.as_std().exists());
        drop(second);
        assert!(!file.as_std().exists() && !folder.as_std().exists() && own.as_std().exists());
        // One that was filled meanwhile is somebody's.
        let third = reserve(&sandbox);
        fs::write(folder.join("config.toml").as_std(), "x").unwrap();
        drop(third);
        assert!(folder.join("config.toml").as_std().exists() && !file.as_std().exists());
    }
}
