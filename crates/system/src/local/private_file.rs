//! Files of this program that only their owner may read: locks, checked reads and appends.

use super::read;
use crate::{AbsPath, SystemError};
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
};

/// The mode of a file that only its owner can read and write.
const PRIVATE_MODE: u32 = 0o600;

/// A lock between processes, by a file that stays where it is. It is held until this value is
/// dropped or the process ends.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock; `None` if another process or task holds it. Creates the file, which only its
    /// owner can read. The directory must exist.
    ///
    /// # Errors
    /// If the file cannot be opened, or its file system has no locks.
    pub fn try_take(path: &AbsPath) -> Result<Option<Self>, SystemError> {
        let fail = |source| SystemError::from_io("lock", path, source);
        let file = options().read(true).write(true).open(path.as_std()).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(fail(source)),
        }
    }
}

/// Reads a file, and refuses one that another user can read or write. Blocks.
///
/// # Errors
/// [`SystemError::Exposed`] with the command that mends it, and those of
/// [`read_regular`](crate::read_regular).
pub fn read_private(path: &AbsPath) -> Result<Vec<u8>, SystemError> {
    // The bytes come from the file that was checked: a file that is replaced in between is another.
    let (file, size) = read::open(path, None)?;
    let fail = |source| SystemError::from_io("read", path, source);
    expect_private(path, &file)?;
    let limit = crate::limits::MAX_READ_BYTES;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(fail)?;
    match bytes.len() as u64 > limit {
        true => Err(SystemError::TooLarge { path: path.clone(), size, limit }),
        false => Ok(bytes),
    }
}

/// Reads a file of any size line by line, and refuses one that another user can read or write.
/// `each` gets a line without its line break, and whether it is whole: a longer one than `longest`
/// bytes is cut. It ends the reading by returning `false`. Blocks.
///
/// # Errors
/// Those of [`read_private`].
pub fn read_private_lines(
    path: &AbsPath,
    longest: usize,
    mut each: impl FnMut(&[u8], bool) -> bool,
) -> Result<(), SystemError> {
    let (file, _) = read::open(path, None)?;
    expect_private(path, &file)?;
    let fail = |source| SystemError::from_io("read", path, source);
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        // The bytes of a line, its line break, and one more by which a longer one is known.
        let most = longest as u64 + 1;
        if reader.by_ref().take(most).read_until(b'\n', &mut line).map_err(fail)? == 0 {
            return Ok(());
        }
        let is_whole = line.pop_if(|last| *last == b'\n').is_some() || line.len() <= longest;
        if !is_whole {
            line.truncate(longest);
            reader.skip_until(b'\n').map_err(fail)?;
        }
        if !each(&line, is_whole) {
            return Ok(());
        }
    }
}

/// A file that only grows, by whole lines, and that only its owner can read. Several processes may
/// append to one file: each line is written with one call.
#[derive(Debug)]
pub struct AppendFile {
    path: AbsPath,
    file: File,
}

impl AppendFile {
    /// Opens the file, or creates it. The directory must exist. Blocks.
    ///
    /// # Errors
    /// [`SystemError::Exposed`] if another user can read it, [`SystemError::NotRegular`] if it is
    /// no regular file, or if it cannot be opened.
    pub fn open(path: &AbsPath) -> Result<Self, SystemError> {
        let fail = |source| SystemError::from_io("write", path, source);
        let file = options().read(true).append(true).open(path.as_std()).map_err(fail)?;
        if !file.metadata().map_err(fail)?.is_file() {
            return Err(SystemError::NotRegular(path.clone()));
        }
        expect_private(path, &file)?;
        let mut opened = Self { path: path.clone(), file };
        opened.end_line()?;
        Ok(opened)
    }

    /// Ends a line that a crash cut off, so that the next line is not part of it.
    fn end_line(&mut self) -> Result<(), SystemError> {
        let fail = |source| SystemError::from_io("write", &self.path, source);
        if self.file.metadata().map_err(fail)?.len() == 0 {
            return Ok(());
        }
        let mut last = [0];
        self.file.seek(SeekFrom::End(-1)).map_err(fail)?;
        self.file.read_exact(&mut last).map_err(fail)?;
        if last != *b"\n" { self.file.write_all(b"\n").map_err(fail) } else { Ok(()) }
    }

    /// Appends one line; `line` includes its line break. With `sync`, the line is on the disk when
    /// this returns. Blocks.
    ///
    /// # Errors
    /// If the disk is full or fails.
    pub fn append(&mut self, line: &[u8], sync: bool) -> Result<(), SystemError> {
        let fail = |source| SystemError::from_io("write", &self.path, source);
        self.file.write_all(line).map_err(fail)?;
        if sync { self.file.sync_data().map_err(fail) } else { Ok(()) }
    }

    /// Whether the path still leads to this file.
    pub fn is_in_place(&self) -> bool {
        let id = |found: std::fs::Metadata| (found.dev(), found.ino());
        let there = std::fs::symlink_metadata(self.path.as_std()).ok().map(id);
        there.is_some() && there == self.file.metadata().ok().map(id)
    }
}

/// Options that create a private file where none is, and never follow a symbolic link or wait.
fn options() -> OpenOptions {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.create(true).mode(PRIVATE_MODE).custom_flags(flags.bits() as i32);
    options
}

/// Fails if another user than the owner can read or write the file, or the owner is another user.
fn expect_private(path: &AbsPath, file: &File) -> Result<(), SystemError> {
    let found = file.metadata().map_err(|source| SystemError::from_io("read", path, source))?;
    let user = rustix::process::geteuid().as_raw();
    if ![0, user].contains(&found.uid()) {
        return Err(SystemError::Foreign { path: path.clone(), owner: found.uid() });
    }
    match found.mode() & 0o077 {
        0 => Ok(()),
        _ => Err(SystemError::Exposed { path: path.clone(), mode: found.mode() & 0o777 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    fn file(directory: &tempfile::TempDir, name: &str) -> AbsPath {
        AbsPath::from_os(&directory.path().join(name)).unwrap()
    }

    #[test]
    fn a_lock_has_one_holder_at_a_time_also_within_one_process() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory, "lock");
        let held = FileLock::try_take(&path).unwrap();
        assert!(held.is_some());
        assert!(FileLock::try_take(&path).unwrap().is_none());
        drop(held);
        assert!(FileLock::try_take(&path).unwrap().is_some());
        assert_eq!(fs::metadata(path.as_std()).unwrap().permissions().mode() & 0o777, PRIVATE_MODE);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_command_that_mends_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory, "secret");
        fs::write(path.as_std(), "x").unwrap();
        for (mode, refused) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o620, true)] {
            fs::set_permissions(path.as_std(), fs::Permissions::from_mode(mode)).unwrap();
            match read_private(&path) {
                Ok(bytes) => assert_eq!((bytes.as_slice(), refused), (b"x".as_slice(), false), "{mode:o}"),
                Err(error) => {
                    assert!(refused, "{mode:o}: {error}");
                    assert!(error.to_string().contains(&format!("chmod 600 {path}")), "{error}");
                    assert!(AppendFile::open(&path).is_err(), "{mode:o}");
                }
            }
        }
    }

    #[test]
    fn lines_are_appended_after_one_that_a_crash_cut_off() {
        let directory = tempfile::tempdir().unwrap();
        let path = file(&directory, "log");
        let mut log = AppendFile::open(&path).unwrap();
        log.append(b"one\n", true).unwrap();
        log.append(b"tw", false).unwrap();
        assert!(log.is_in_place());
        let mut other = AppendFile::open(&path).unwrap();
        other.append(b"three\n", false).unwrap();
        assert_eq!(fs::read_to_string(path.as_std()).unwrap(), "one\ntw\nthree\n");
        let mut lines = Vec::new();
        let mut each = |line: &[u8], whole| {
            lines.push((String::from_utf8_lossy(line).into_owned(), whole));
            lines.len() < 3
        };
        read_private_lines(&path, 3, &mut each).unwrap();
        let cut = |line: &str, whole| (line.to_owned(), whole);
        assert_eq!(lines, [cut("one", true), cut("tw", true), cut("thr", false)]);
        fs::remove_file(path.as_std()).unwrap();
        assert!(!log.is_in_place());
        std::os::unix::fs::symlink("/etc/hostname", path.as_std()).unwrap();
        assert!(AppendFile::open(&path).is_err(), "a link is not followed");
    }
}
