//! A file identified by an open directory and a name in it.
//!
//! Between resolving a path and opening it by name, the path can be changed to lead elsewhere. Here
//! the resolved directory is opened without following any link (stricter than `RESOLVE_BENEATH`: a
//! resolved path contains no links). From then on the directory cannot be exchanged.

use super::directory::{DIRECTORY_FLAGS, open_by_component, open_directory};
use super::index::{self, TooMany};
use crate::path::text_of;
use crate::{AbsPath, FileKind, Pins, SystemError};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, unlinkat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// What the file operations of one tool call are bound to.
#[derive(Debug)]
pub(super) struct Pinned {
    pins: Pins,
    /// The secret files by device and inode; collected when the first file with several hard links
    /// is met.
    secrets: OnceLock<Result<HashSet<(u64, u64)>, TooMany>>,
}

/// A name in an open directory.
#[derive(Debug)]
pub(super) struct EntryHandle {
    pub(super) directory: OwnedFd,
    pub(super) name: OsString,
    pub(super) path: AbsPath,
}

/// Metadata of a directory entry, in the types that [`std::os::unix::fs::MetadataExt`] uses on
/// every Unix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryMetadata {
    pub(super) kind: FileType,
    /// The device and inode.
    pub(super) id: (u64, u64),
    /// The number of hard links.
    pub(super) links: u64,
    pub(super) user: u32,
    pub(super) group: u32,
    /// The permission bits, including set-user-ID, set-group-ID and sticky.
    pub(super) permissions: u32,
}

impl From<Stat> for EntryMetadata {
    fn from(stat: Stat) -> Self {
        Self {
            kind: FileType::from_raw_mode(stat.st_mode),
            id: (widen(stat.st_dev), widen(stat.st_ino)),
            links: widen(stat.st_nlink),
            user: stat.st_uid,
            group: stat.st_gid,
            permissions: widen(stat.st_mode) as u32 & 0o7777,
        }
    }
}

/// Widens a number whose type differs between systems. A negative one (Apple systems have negative
/// device numbers) is sign-extended, as in the standard library.
fn widen(number: impl Into<i128>) -> u64 {
    number.into() as u64
}

impl Pinned {
    pub(super) fn new(pins: Pins) -> Self {
        Self { pins, secrets: OnceLock::new() }
    }

    /// Returns the target that a path must lead to.
    pub(super) fn target(&self, path: &AbsPath) -> Option<AbsPath> {
        self.pins.target(path)
    }

    /// Refuses a file that is a secret under another name, or may be one because the project has
    /// too many files to find the secret ones.
    pub(super) fn check(&self, path: &AbsPath, id: (u64, u64), links: u64) -> Result<(), SystemError> {
        if links < 2 {
            return Ok(());
        }
        let secrets = self.secrets.get_or_init(|| index::secret_files(&self.pins.secrets));
        match secrets {
            Err(TooMany) => Err(SystemError::Unchecked(path.clone())),
            Ok(secrets) if secrets.contains(&id) => Err(SystemError::Blocked(path.clone())),
            Ok(_) => Ok(()),
        }
    }
}

/// Returns where a path must lead, or leads if it is not pinned.
pub(super) fn target(path: &AbsPath, pinned: Option<&Pinned>) -> Result<AbsPath, SystemError> {
    pinned.and_then(|pinned| pinned.target(path)).map_or_else(|| resolve(path), Ok)
}

/// Resolves every link in a path; see [`crate::System::resolve`].
pub(super) fn resolve(path: &AbsPath) -> Result<AbsPath, SystemError> {
    crate::resolve::resolve(path, |candidate| match fs::read_link(candidate.as_std()) {
        Ok(target) => Ok(Some(text_of(target.as_os_str()))),
        Err(error) => match error.kind() {
            // Not a link; missing; below something that is not a directory.
            io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(error),
        },
    })
    .map_err(|source| SystemError::from_io("resolve", path, source))
}

/// Opens a directory to list it. Follows no link of a pinned path.
pub(super) fn directory(path: &AbsPath, pinned: Option<&Pinned>) -> Result<OwnedFd, SystemError> {
    let target = pinned.and_then(|pinned| pinned.target(path));
    let opened = match &target {
        Some(target) => open_directory(target)
            .and_then(|handle| rustix::fs::openat(handle, ".", DIRECTORY_FLAGS, Mode::empty())),
        None => rustix::fs::openat(CWD, path.as_std(), DIRECTORY_FLAGS, Mode::empty()),
    };
    opened.map_err(|error| match target {
        Some(_) => failed("list", path, error),
        None => SystemError::from_io("list", path, error.into()),
    })
}

/// Returns the error of an operation on a path that was opened without following links: a link
/// means that the path has changed.
pub(super) fn failed(operation: &'static str, path: &AbsPath, error: Errno) -> SystemError {
    match error {
        Errno::LOOP => SystemError::Moved(path.clone()),
        error => SystemError::from_io(operation, path, error.into()),
    }
}

/// Returns the metadata of a path without links.
pub(super) fn metadata(path: &AbsPath) -> Result<fs::Metadata, SystemError> {
    let fail = |source| SystemError::from_io("stat", path, source);
    if path.parent().is_none() {
        return fs::metadata(path.as_std()).map_err(fail);
    }
    let entry = EntryHandle::open(path, false)?;
    #[cfg(target_os = "linux")]
    return {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&entry.directory, &entry.name, flags, Mode::empty());
        file.map_err(io::Error::from).and_then(|file| File::from(file).metadata()).map_err(fail)
    };
    #[cfg(not(target_os = "linux"))]
    fs::symlink_metadata(entry.path.as_std()).map_err(fail)
}

/// Fails unless the metadata is that of a regular file.
pub(super) fn expect_regular(path: &AbsPath, found: &fs::Metadata) -> Result<(), SystemError> {
    match kind(found.file_type()) {
        FileKind::File => Ok(()),
        FileKind::Directory => Err(SystemError::IsDirectory(path.clone())),
        FileKind::Other => Err(SystemError::NotRegular(path.clone())),
    }
}

pub(super) fn kind(file_type: fs::FileType) -> FileKind {
    if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    }
}

pub(super) fn kind_of(file_type: FileType) -> FileKind {
    match file_type {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        _ => FileKind::Other,
    }
}

impl EntryHandle {
    /// Opens the directory that contains the last name of a path, which may be a link itself. Links
    /// before the last name are followed. The path must lead to its pinned target.
    pub(super) fn of_name(path: &AbsPath, pinned: Option<&Pinned>) -> Result<Self, SystemError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(SystemError::IsDirectory(path.clone()));
        };
        let entry = Self::open(&resolve(&parent)?.join(name), false)?;
        let Some(target) = pinned.and_then(|pinned| pinned.target(path)) else { return Ok(entry) };
        let found = entry.stat().map_err(|source| SystemError::from_io("stat", path, source))?;
        let leads = match found.map(|found| found.kind) {
            Some(FileType::Symlink) => resolve(&entry.path)?,
            _ => entry.path.clone(),
        };
        if leads == target { Ok(entry) } else { Err(SystemError::Moved(path.clone())) }
    }

    /// Removes a file, a link (not its target), or a directory with its contents.
    pub(super) fn remove(&self) -> rustix::io::Result<()> {
        remove(&self.directory, &self.name)
    }

    /// Opens the directory of a path without following links; `make` creates missing directories.
    pub(super) fn open(path: &AbsPath, make: bool) -> Result<Self, SystemError> {
        let (Some(parent), Some(name)) = (path.parent(), path.as_std().file_name()) else {
            return Err(SystemError::IsDirectory(path.clone()));
        };
        let directory = match open_directory(&parent) {
            Err(Errno::NOENT) if make => open_by_component(&parent, true),
            opened => opened,
        };
        let directory = directory.map_err(|error| failed("open", path, error))?;
        Ok(Self { directory, name: name.to_owned(), path: path.clone() })
    }

    /// Returns the metadata without following links; `None` if the entry does not exist.
    pub(super) fn stat(&self) -> io::Result<Option<EntryMetadata>> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the metadata of the regular file, or `None` if there is no entry. Anything else,
    /// including a link, is an error.
    pub(super) fn regular(&self, operation: &'static str) -> Result<Option<EntryMetadata>, SystemError> {
        let found = self.stat().map_err(|source| SystemError::from_io(operation, &self.path, source))?;
        match found.map(|found| found.kind) {
            None | Some(FileType::RegularFile) => Ok(found),
            Some(FileType::Directory) => Err(SystemError::IsDirectory(self.path.clone())),
            Some(FileType::Symlink) => Err(SystemError::Moved(self.path.clone())),
            Some(_) => Err(SystemError::NotRegular(self.path.clone())),
        }
    }

    /// Opens the file without following a link and without blocking.
    pub(super) fn file(&self, operation: &'static str, flags: OFlags) -> Result<File, SystemError> {
        let fail = |source: io::Error| SystemError::from_io(operation, &self.path, source);
        if self.regular(operation)?.is_none() {
            return Err(SystemError::NotFound(self.path.clone()));
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, &self.name, flags, Mode::empty());
        let file = File::from(file.map_err(|error| failed(operation, &self.path, error))?);
        // The file may have been replaced since the check above.
        expect_regular(&self.path, &file.metadata().map_err(fail)?)?;
        Ok(file)
    }
}

/// Removes a name in a directory, with what is below it. Follows no link.
fn remove(directory: impl AsFd, name: &OsStr) -> rustix::io::Result<()> {
    let found = rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return unlinkat(directory, name, AtFlags::empty());
    }
    let below = rustix::fs::openat(&directory, name, DIRECTORY_FLAGS | OFlags::NOFOLLOW, Mode::empty())?;
    for entry in Dir::read_from(&below)? {
        let entry = entry?;
        let inner = OsStr::from_bytes(entry.file_name().to_bytes());
        if inner != "." && inner != ".." {
            remove(&below, inner)?;
        }
    }
    unlinkat(directory, name, AtFlags::REMOVEDIR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn a_file_with_several_names_is_refused_where_secret_files_are_unknown() {
        let pinned = Pinned { pins: Pins::default(), secrets: OnceLock::from(Err(TooMany)) };
        let path = AbsPath::new("/w/file").unwrap();
        assert!(pinned.check(&path, (1, 1), 1).is_ok());
        assert!(matches!(pinned.check(&path, (1, 1), 2), Err(SystemError::Unchecked(_))));
    }

    #[test]
    fn metadata_by_directory_handle_and_by_path_agree() {
        let dir = tempfile::tempdir().unwrap();
        let path = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap().join("file");
        fs::write(path.as_std(), "x").unwrap();
        fs::hard_link(path.as_std(), dir.path().join("other")).unwrap();
        fs::set_permissions(path.as_std(), fs::Permissions::from_mode(0o751)).unwrap();
        let found = EntryHandle::open(&path, false).unwrap().stat().unwrap().unwrap();
        let known = fs::metadata(path.as_std()).unwrap();
        assert_eq!((found.id, found.links), ((known.dev(), known.ino()), 2));
        assert_eq!((found.user, found.group), (known.uid(), known.gid()));
        assert_eq!((found.kind, found.permissions), (FileType::RegularFile, 0o751));
        assert_eq!(widen(-2_i32), -2_i32 as u64, "as the standard library extends it");
    }

    #[test]
    fn s09_opening_a_directory_follows_no_link_by_either_method() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        fs::create_dir_all(top.join("real/deep").as_std()).unwrap();
        fs::write(top.join("real/deep/file").as_std(), "x").unwrap();
        symlink("real", top.join("link").as_std()).unwrap();
        symlink("file", top.join("real/deep/soft").as_std()).unwrap();
        for opened in [open_directory, |path: &AbsPath| open_by_component(path, false)] {
            assert!(opened(&top.join("real/deep")).is_ok());
            assert!(opened(&top.join("link/deep")).is_err());
        }
        assert!(matches!(EntryHandle::open(&top.join("link/deep/file"), true), Err(SystemError::Moved(_))));
        let soft = EntryHandle::open(&top.join("real/deep/soft"), false).unwrap();
        assert!(matches!(soft.file("read", OFlags::RDONLY), Err(SystemError::Moved(_))));
        let made = EntryHandle::open(&top.join("real/new/er/file"), true).unwrap();
        assert!(made.regular("write").unwrap().is_none());
        assert!(top.join("real/new/er").as_std().is_dir());
        // An open directory stays the same one, even if something else takes its name.
        fs::rename(top.join("real/new").as_std(), top.join("real/old").as_std()).unwrap();
        symlink("/etc", top.join("real/new").as_std()).unwrap();
        let flags = OFlags::WRONLY | OFlags::CREATE;
        rustix::fs::openat(&made.directory, "file", flags, Mode::from_raw_mode(0o600)).unwrap();
        assert!(top.join("real/old/er/file").as_std().is_file());
    }
}
