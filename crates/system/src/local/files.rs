//! Metadata, directory listings, and changes that do not touch a file's content.

use crate::{AbsPath, Entry, FileId, FileKind, Metadata, SystemError};
use rustix::{fs::CWD, io::Errno};
use std::{
    fs, io,
    os::{fd::AsFd, unix::fs::MetadataExt as _},
    time::UNIX_EPOCH,
};

/// Returns the metadata of a path, following links. A dangling link is [`FileKind::Other`].
pub(super) fn metadata(path: &AbsPath) -> Result<Metadata, SystemError> {
    let found = match fs::metadata(path.as_std()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::symlink_metadata(path.as_std()),
        other => other,
    };
    let found = found.map_err(|source| SystemError::from_io("stat", path, source))?;
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
        rustix::fs::openat2(CWD, path.as_str(), flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
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
    Some(Metadata { kind: FileKind::Directory, size: found.stx_size, modified, id: Some(id) })
}

/// Returns `None`: this system has no lookup that is guaranteed not to block.
#[cfg(not(target_os = "linux"))]
pub(super) fn cached_directory(_path: &AbsPath) -> Option<Metadata> {
    None
}

/// Lists a directory, sorted by name. Names that are not UTF-8 are skipped, because [`AbsPath`]
/// cannot represent them.
pub(super) fn read_dir(path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
    let fail = |source| SystemError::from_io("list", path, source);
    let mut entries = Vec::new();
    for entry in fs::read_dir(path.as_std()).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else {
            tracing::debug!(directory = %path, name = %name.to_string_lossy(), "skipped a name that is not UTF-8");
            continue;
        };
        entries.push(Entry { path: path.join(name), kind: kind(entry.file_type().map_err(fail)?) });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

pub(super) fn create_dir_all(path: &AbsPath) -> Result<(), SystemError> {
    fs::create_dir_all(path.as_std()).map_err(|source| SystemError::from_io("create directory", path, source))
}

/// Removes a file, a link (not its target), or a directory with its contents.
pub(super) fn remove(path: &AbsPath) -> Result<(), SystemError> {
    let fail = |source| SystemError::from_io("remove", path, source);
    if fs::symlink_metadata(path.as_std()).map_err(fail)?.is_dir() {
        fs::remove_dir_all(path.as_std()).map_err(fail)
    } else {
        fs::remove_file(path.as_std()).map_err(fail)
    }
}

/// Renames a file or directory; an existing target is refused.
pub(super) fn rename(from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
    rename_to_free_name(CWD, from.as_str(), CWD, to.as_str()).map_err(|source| {
        // The OS does not report which of the two paths is missing.
        let source_exists = fs::symlink_metadata(from.as_std()).is_ok();
        match source.kind() {
            io::ErrorKind::AlreadyExists => SystemError::Exists(to.clone()),
            _ => SystemError::from_io("rename", if source_exists { to } else { from }, source),
        }
    })
}

/// Renames an entry unless the target exists. On a file system that cannot do both in one step, the
/// target is looked up first.
pub(super) fn rename_to_free_name(
    from_directory: impl AsFd,
    from: &str,
    to_directory: impl AsFd,
    to: &str,
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

/// Resolves every link in a path; see [`crate::System::resolve`].
pub(super) fn resolve(path: &AbsPath) -> Result<AbsPath, SystemError> {
    crate::resolve::resolve(path, |candidate| match fs::read_link(candidate.as_std()) {
        Ok(target) => match target.to_str() {
            Some(target) => Ok(Some(target.to_owned())),
            None => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "a link points to a path that is not UTF-8"))
            }
        },
        Err(error) => match error.kind() {
            // Not a link; missing; below something that is not a directory.
            io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(None),
            _ => Err(error),
        },
    })
    .map_err(|source| SystemError::from_io("resolve", path, source))
}

/// Fails unless the metadata is that of a regular file.
pub(super) fn expect_regular(path: &AbsPath, found: &fs::Metadata) -> Result<(), SystemError> {
    match kind(found.file_type()) {
        FileKind::File => Ok(()),
        FileKind::Directory => Err(SystemError::IsDirectory(path.clone())),
        FileKind::Other => Err(SystemError::NotRegular(path.clone())),
    }
}

fn kind(file_type: fs::FileType) -> FileKind {
    if file_type.is_file() {
        FileKind::File
    } else if file_type.is_dir() {
        FileKind::Directory
    } else {
        FileKind::Other
    }
}
