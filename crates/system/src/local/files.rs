//! Metadata, directory listings, and changes that do not touch a file's content.

use super::directory;
use super::entry::{self, EntryHandle, Pinned, kind, kind_of};
use crate::{AbsPath, Entry, FileId, Metadata, SystemError};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::{
    fd::AsFd,
    unix::{ffi::OsStrExt, fs::MetadataExt as _},
};
use std::time::UNIX_EPOCH;
use std::{fs, io};

/// Returns the metadata of a path, following links. A dangling link is [`crate::FileKind::Other`].
pub(super) fn metadata(path: &AbsPath, pinned: Option<&Pinned>) -> Result<Metadata, SystemError> {
    let fail = |source| SystemError::from_io("stat", path, source);
    let found = match pinned.and_then(|pinned| pinned.target(path)) {
        Some(target) => entry::metadata(&target),
        None => fs::metadata(path.as_std()).map_err(fail),
    };
    let found = found.or_else(|error| match fs::symlink_metadata(path.as_std()) {
        Ok(found) if error.is_not_found() && found.is_symlink() => Ok(found),
        _ => Err(error),
    })?;
    let created = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let id = FileId { device: found.dev(), inode: found.ino(), created: created.map(|at| at.as_nanos()) };
    Ok(Metadata {
        kind: kind(found.file_type()),
        size: found.len(),
        modified: found.modified().ok(),
        id: Some(id),
    })
}

/// Returns the metadata of a directory if the kernel has it cached, without waiting for a disk or a
/// file server. Returns `None` if it is not cached or not a directory.
#[cfg(target_os = "linux")]
pub(super) fn cached_directory(path: &AbsPath) -> Option<Metadata> {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatxFlags, StatxTimestamp};
    use std::time::Duration;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory =
        rustix::fs::openat2(CWD, path.as_std(), flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let found = rustix::fs::statx(&directory, "", flags, wanted).ok()?;
    let time =
        |at: StatxTimestamp| u64::try_from(at.tv_sec).ok().map(|seconds| Duration::new(seconds, at.tv_nsec));
    let has_created = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    let created = time(found.stx_btime).filter(|_| has_created);
    let id = FileId {
        device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
        created: created.map(|at| at.as_nanos()),
    };
    let modified = UNIX_EPOCH.checked_add(time(found.stx_mtime)?);
    Some(Metadata { kind: crate::FileKind::Directory, size: found.stx_size, modified, id: Some(id) })
}

/// Returns `None`: this system has no lookup that is guaranteed not to block.
#[cfg(not(target_os = "linux"))]
pub(super) fn cached_directory(_path: &AbsPath) -> Option<Metadata> {
    None
}

/// Lists a directory, sorted by name.
pub(super) fn read_dir(path: &AbsPath, pinned: Option<&Pinned>) -> Result<Vec<Entry>, SystemError> {
    let fail = |source: Errno| SystemError::from_io("list", path, source.into());
    let directory = entry::directory(path, pinned)?;
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(&directory).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |found| FileType::from_raw_mode(found.st_mode)),
            known => known,
        };
        entries.push(Entry { path: path.join_os(name), kind: kind_of(kind) });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

pub(super) fn create_dir_all(path: &AbsPath, pinned: Option<&Pinned>) -> Result<(), SystemError> {
    let target = entry::target(path, pinned)?;
    let made = directory::open_by_component(&target, true);
    made.map(drop).map_err(|error| entry::failed("create directory", path, error))
}

/// Removes a file, a link (not its target), or a directory with its contents.
pub(super) fn remove(path: &AbsPath, pinned: Option<&Pinned>) -> Result<(), SystemError> {
    let entry = EntryHandle::of_name(path, pinned)?;
    entry.remove().map_err(|error| SystemError::from_io("remove", path, error.into()))
}

/// Renames a file or directory; an existing target is refused.
pub(super) fn rename(from: &AbsPath, to: &AbsPath, pinned: Option<&Pinned>) -> Result<(), SystemError> {
    let source = EntryHandle::of_name(from, pinned)?;
    let target = EntryHandle::of_name(to, pinned)?;
    rename_to_free_name(&source.directory, &source.name, &target.directory, &target.name).map_err(|error| {
        // The OS does not report which of the two paths is missing.
        let source_exists = source.stat().is_ok_and(|found| found.is_some());
        match error.kind() {
            io::ErrorKind::AlreadyExists => SystemError::Exists(to.clone()),
            _ => SystemError::from_io("rename", if source_exists { to } else { from }, error),
        }
    })
}

/// Renames an entry unless the target exists. On a file system that cannot do both in one step, the
/// target is looked up first.
pub(super) fn rename_to_free_name(
    from_directory: impl AsFd,
    from: &OsStr,
    to_directory: impl AsFd,
    to: &OsStr,
) -> io::Result<()> {
    use rustix::fs::{AtFlags, RenameFlags, renameat, renameat_with, statat};
    let (from_directory, to_directory) = (from_directory.as_fd(), to_directory.as_fd());
    match renameat_with(from_directory, from, to_directory, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return Ok(done?),
    }
    match statat(to_directory, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(renameat(from_directory, from, to_directory, to)?),
        Err(error) => Err(error.into()),
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
    }
}
