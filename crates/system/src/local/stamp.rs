//! A stamp that shows, without reading a file, whether it may have changed.

use crate::AbsPath;
use std::{
    os::unix::fs::MetadataExt as _,
    time::{Duration, SystemTime},
};

/// Two changes of a file within this time may produce the same timestamps: the kernel stamps files
/// with a clock that ticks every 10 ms at the slowest.
const TICK: Duration = Duration::from_millis(50);

/// A file's device and inode, size, mode, modification time and change time. Programs can set the
/// modification time, but not the change time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp(Option<Identity>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
    mode: u32,
}

impl FileStamp {
    /// Returns the stamp of a file, following links. A file that does not exist or cannot be read
    /// has a stamp too. Costs one system call.
    pub fn of(path: &AbsPath) -> Self {
        Self(std::fs::metadata(path.as_std()).ok().map(|found| Identity {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            mode: found.mode(),
        }))
    }

    /// Returns whether the file exists and its properties can be read.
    pub fn exists(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the permission bits of the file; `None` if it does not exist.
    pub fn permissions(&self) -> Option<u32> {
        self.0.map(|found| found.mode & 0o777)
    }

    /// Returns whether any later change is certain to produce a different stamp. For a file that
    /// changed a moment ago it is not, so the file must be read again.
    pub fn is_settled(&self) -> bool {
        let Some(Identity { changed: (seconds, nanoseconds), .. }) = self.0 else { return true };
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else {
            return false;
        };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        SystemTime::now().duration_since(changed).is_ok_and(|age| age > TICK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_gets_another_stamp_and_a_recent_change_is_not_settled() {
        let directory = tempfile::tempdir().unwrap();
        let path = AbsPath::from_os(&directory.path().join("f")).unwrap();
        let none = FileStamp::of(&path);
        assert!(none.is_settled(), "a file that appears always shows");
        std::fs::write(path.as_std(), "one").unwrap();
        let one = FileStamp::of(&path);
        assert_ne!(none, one);
        assert!(!one.is_settled());
        assert_eq!(one, FileStamp::of(&path));
        std::fs::write(path.as_std(), "three").unwrap();
        assert_ne!(one, FileStamp::of(&path));
        let old = Identity { changed: (1_000_000_000, 0), ..FileStamp::of(&path).0.unwrap() };
        assert!(FileStamp(Some(old)).is_settled());
        let future = Identity { changed: (i64::MAX / 2, 0), ..old };
        assert!(!FileStamp(Some(future)).is_settled(), "a clock that was set back settles nothing");
    }
}
