//! What tells, without reading it, whether a file may have changed.

use crate::AbsPath;
use std::{
    os::unix::fs::MetadataExt as _,
    time::{Duration, SystemTime},
};

/// Two changes of a file within this time may leave the same times on it: the kernel stamps files
/// by a clock that ticks every 10 ms at the slowest.
const TICK: Duration = Duration::from_millis(50);

/// A file as it was looked at: where it lies on the disk, its size, and when it was written and
/// changed. A program can set the time of writing; nobody can set the time of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp(Option<Found>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Found {
    device: u64,
    inode: u64,
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// The stamp of a file as it is now, links followed. A file that is not there, or cannot be
    /// looked at, has one too. One system call.
    pub fn of(path: &AbsPath) -> Self {
        Self(std::fs::metadata(path.as_std()).ok().map(|found| Found {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            written: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }))
    }

    /// Whether a later change is sure to show as another stamp. Of a file that has just changed it
    /// is not: what was read of it has to be read again.
    pub fn is_settled(&self) -> bool {
        let Some(Found { changed: (seconds, nanoseconds), .. }) = self.0 else { return true };
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
    fn a_file_that_changes_gets_another_stamp_and_one_that_just_changed_is_not_settled() {
        let folder = tempfile::tempdir().unwrap();
        let path = AbsPath::from_os(&folder.path().join("f")).unwrap();
        let none = FileStamp::of(&path);
        assert!(none.is_settled(), "a file that appears always shows");
        std::fs::write(path.as_std(), "one").unwrap();
        let one = FileStamp::of(&path);
        assert_ne!(none, one);
        assert!(!one.is_settled());
        assert_eq!(one, FileStamp::of(&path));
        std::fs::write(path.as_std(), "three").unwrap();
        assert_ne!(one, FileStamp::of(&path));
        let old = Found { changed: (1_000_000_000, 0), ..FileStamp::of(&path).0.unwrap() };
        assert!(FileStamp(Some(old)).is_settled());
        let future = Found { changed: (i64::MAX / 2, 0), ..old };
        assert!(!FileStamp(Some(future)).is_settled(), "a clock that was set back settles nothing");
    }
}
