//! The changes that confined commands made to files of the home directory, such as caches of
//! package managers. Each project has a directory for its own.

use super::{FileLock, private_directory};
use crate::{AbsPath, SystemError};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::SystemTime;

/// The name of the directory that has one for each project, next to those of sessions.
pub const CACHES_DIRECTORY: &str = "caches";

/// The name of a file in a directory for files of commands. The time of its last change is that of
/// the last use of the directory.
pub(super) const USED: &str = "used";

/// The name of the file that a session locks while it changes the files next to it.
const LOCK: &str = "lock";

/// The changes of one project's commands.
#[derive(Debug)]
pub struct ProjectCaches {
    /// The project; `None` if it is not known.
    pub project: Option<AbsPath>,
    /// The directory with the changes.
    pub directory: AbsPath,
    /// The time of the last use.
    pub used: SystemTime,
}

impl ProjectCaches {
    /// Returns the changes of all projects below a directory for temporary files, those that were
    /// used last first. Blocks.
    pub fn all(temp: &AbsPath) -> Vec<Self> {
        let entries = fs::read_dir(temp.join(CACHES_DIRECTORY).as_std()).into_iter().flatten().flatten();
        let of = |entry: fs::DirEntry| {
            let directory = AbsPath::from_os(&entry.path()).ok()?;
            let note = directory.join(USED);
            let used = fs::symlink_metadata(note.as_std()).ok()?.modified().ok()?;
            let project = fs::read_to_string(note.as_std()).ok().and_then(|path| AbsPath::new(&path).ok());
            Some(Self { project, directory, used })
        };
        let mut all: Vec<_> = entries.filter_map(of).collect();
        all.sort_by_key(|caches| std::cmp::Reverse(caches.used));
        all
    }

    /// Returns the space that the files take, in bytes. Blocks for every file.
    pub fn bytes(&self) -> u64 {
        let (mut bytes, mut directories) = (0, vec![self.directory.as_std().to_owned()]);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let Ok(found) = entry.metadata() else { continue };
                bytes += found.blocks() * 512;
                if found.is_dir() {
                    directories.push(entry.path());
                }
            }
        }
        bytes
    }

    /// Removes them. Returns `false` if a session uses them. Blocks for every file.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn clear(&self) -> Result<bool, SystemError> {
        let mut held = Vec::new();
        for slot in fs::read_dir(self.directory.as_std()).into_iter().flatten().flatten() {
            let lock = self.directory.join_os(&slot.file_name()).join(LOCK);
            if lock.as_std().exists() {
                match FileLock::try_take(&lock)? {
                    Some(lock) => held.push(lock),
                    None => return Ok(false),
                }
            }
        }
        make_removable(self.directory.as_std());
        match fs::remove_dir_all(self.directory.as_std()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(SystemError::from_io("remove", &self.directory, error))
            }
            _ => Ok(true),
        }
    }
}

/// Notes that a session uses a directory, for a project. A file with the same content is not
/// written again: ext4 writes a file to the disk when it is closed after it was truncated.
pub(super) fn note_use(directory: &AbsPath, project: Option<&AbsPath>) -> io::Result<()> {
    let (note, project) = (directory.join(USED), project.map_or("", AbsPath::as_str));
    if fs::read(note.as_std()).is_ok_and(|known| known == project.as_bytes()) {
        return touch(&note);
    }
    fs::write(note.as_std(), project)
}

/// Makes now the time of a file's last change.
fn touch(path: &AbsPath) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(utimensat(CWD, path.as_std(), &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Creates a directory for the changes of a session below that of its project. Returns it, locked.
pub(super) fn take(changes: &AbsPath, slot: usize) -> io::Result<Option<(AbsPath, FileLock)>> {
    let own = changes.join(slot.to_string());
    private_directory::create(&own)?;
    let lock = FileLock::try_take(&own.join(LOCK)).map_err(io::Error::other)?;
    Ok(lock.map(|lock| (own, lock)))
}

/// Opens up the work directories of overlays. The kernel creates them without permissions, and they
/// cannot be removed before.
pub(super) fn make_removable(path: &Path) {
    let slots = fs::read_dir(path).into_iter().flatten().flatten();
    for overlay in slots.flat_map(|slot| fs::read_dir(slot.path()).into_iter().flatten().flatten()) {
        fs::set_permissions(overlay.path().join("work/work"), Permissions::from_mode(0o700)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_renews_the_time_and_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let directory = AbsPath::from_os(dir.path()).unwrap();
        let note = directory.join(USED);
        for project in [None, Some("/w/shop"), Some("/w/shop"), Some("/w/s")] {
            let project = project.map(|path| AbsPath::new(path).unwrap());
            note_use(&directory, project.as_ref()).unwrap();
            let text = project.as_ref().map_or("", AbsPath::as_str);
            assert_eq!(fs::read_to_string(note.as_std()).unwrap(), text);
            let file = fs::File::options().write(true).open(note.as_std()).unwrap();
            assert!(file.metadata().unwrap().modified().unwrap() > SystemTime::UNIX_EPOCH);
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
    }

    #[test]
    fn caches_are_cleared_unless_a_session_uses_them() {
        let dir = tempfile::tempdir().unwrap();
        let temp = AbsPath::from_os(dir.path()).unwrap();
        let directory = temp.join(CACHES_DIRECTORY).join("0123");
        let project = AbsPath::new("/w/shop").unwrap();
        private_directory::create(&directory).unwrap();
        note_use(&directory, Some(&project)).unwrap();
        let (own, lock) = take(&directory, 0).unwrap().unwrap();
        fs::create_dir_all(own.join(".npm/work/work").as_std()).unwrap();
        fs::write(own.join(".npm/file").as_std(), vec![1; 100_000]).unwrap();
        fs::set_permissions(own.join(".npm/work/work").as_std(), Permissions::from_mode(0o000)).unwrap();
        let all = ProjectCaches::all(&temp);
        assert_eq!((all.len(), all[0].project.as_ref()), (1, Some(&project)));
        assert!(all[0].bytes() >= 100_000, "{}", all[0].bytes());
        assert!(!all[0].clear().unwrap());
        drop(lock);
        assert!(all[0].clear().unwrap());
        assert!(ProjectCaches::all(&temp).is_empty());
    }
}
