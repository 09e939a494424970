//! Replaces a file's content atomically: a reader sees either the old or the new content.

use super::entry::{self, EntryHandle, EntryMetadata, Pinned};
use super::files::rename_to_free_name;
use super::leftovers::Leftovers;
use super::locks::{PathLock, lock_moment};
use crate::limits::{MAX_READ_BYTES, TEMPORARY_TRIES, XATTR_BYTES};
use crate::text::{self, encode};
use crate::{AbsPath, SystemError};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Uid};
use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// The mode of a new file, before the umask.
const NEW_FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// The mode of a file that only its owner can read and write.
const PRIVATE_MODE: Mode = Mode::from_raw_mode(0o600);

/// The content that a write may replace.
#[derive(Clone, Copy)]
enum Over<'a> {
    Anything,
    /// This content only, `None` for no file.
    Content(Option<&'a [u8]>),
}

/// Replaces text if it is `was`, `None` for no file. Creates missing directories, and keeps the
/// encoding and byte-order mark.
pub(super) fn text(
    path: &AbsPath,
    pinned: Option<&Pinned>,
    leftovers: &Leftovers,
    was: Option<&str>,
    text: &str,
) -> Result<(), SystemError> {
    let (entry, existing) =
        open_for_replacement(path, pinned, was.is_none()).map_err(|error| match error {
            SystemError::NotFound(_) if was.is_some() => SystemError::Changed(path.clone()),
            error => error,
        })?;
    let now = existing.map(|_| content(&entry)).transpose()?;
    let form = text::expect(path, now.as_deref(), was)?;
    let bytes = encode(path, text, form)?;
    write(&entry, existing.as_ref(), leftovers, &bytes, Over::Content(now.as_deref())).map_err(|error| {
        match error {
            SystemError::Changed(_) => SystemError::Changed(path.clone()),
            error => error,
        }
    })
}

/// Replaces bytes; the directory must exist.
pub(super) fn bytes(
    path: &AbsPath,
    pinned: Option<&Pinned>,
    leftovers: &Leftovers,
    bytes: &[u8],
) -> Result<(), SystemError> {
    let (entry, existing) = open_for_replacement(path, pinned, false)?;
    write(&entry, existing.as_ref(), leftovers, bytes, Over::Anything)
}

/// Replaces a file with one that only its owner can read, regardless of the old file's mode. The
/// result is a new file: other hard links of the old one keep the old content. A symbolic link is
/// refused, because its creator would choose where the content goes.
pub(super) fn private(
    path: &AbsPath,
    pinned: Option<&Pinned>,
    leftovers: &Leftovers,
    bytes: &[u8],
) -> Result<(), SystemError> {
    let entry = EntryHandle::of_name(path, pinned)?;
    match entry.regular("write") {
        Ok(None) => {}
        Ok(Some(_)) => may_write(&entry)?,
        Err(SystemError::Moved(_)) => return Err(SystemError::NotRegular(path.clone())),
        Err(error) => return Err(error),
    }
    replace_by_rename(&entry, None, PRIVATE_MODE, leftovers, bytes, Over::Anything)
}

/// Makes a file executable for those who may read it, or for no one.
pub(super) fn set_executable(
    path: &AbsPath,
    pinned: Option<&Pinned>,
    executable: bool,
) -> Result<(), SystemError> {
    let (entry, _) = open_for_replacement(path, pinned, false)?;
    let file = entry.file("change the mode of", OFlags::RDONLY)?;
    let fail = |source| SystemError::from_io("change the mode of", path, source);
    let mode = file.metadata().map_err(fail)?.mode() & 0o7777;
    let mode = if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    file.set_permissions(Permissions::from_mode(mode)).map_err(fail)
}

/// Opens the directory of a file and returns the existing regular file, if any. Links are resolved
/// once, by name; from then on the directory is held open.
fn open_for_replacement(
    path: &AbsPath,
    pinned: Option<&Pinned>,
    make: bool,
) -> Result<(EntryHandle, Option<EntryMetadata>), SystemError> {
    let entry = EntryHandle::open(&entry::target(path, pinned)?, make)?;
    let existing = entry.regular("write")?;
    if let (Some(pinned), Some(found)) = (pinned, &existing) {
        pinned.check(path, found.id, found.links)?;
    }
    Ok((entry, existing))
}

/// Reads the file that is about to be replaced.
fn content(entry: &EntryHandle) -> Result<Vec<u8>, SystemError> {
    let mut bytes = Vec::new();
    let file = entry.file("read", OFlags::RDONLY)?;
    let size = file.metadata().map_err(|source| fail(entry, source))?.len();
    file.take(MAX_READ_BYTES + 1).read_to_end(&mut bytes).map_err(|source| fail(entry, source))?;
    match bytes.len() as u64 > MAX_READ_BYTES {
        true => Err(SystemError::TooLarge { path: entry.path.clone(), size, limit: MAX_READ_BYTES }),
        false => Ok(bytes),
    }
}

impl Over<'_> {
    /// Keeps other processes from replacing the file between the comparison and the write.
    fn lock(self, entry: &EntryHandle) -> Result<Option<PathLock>, SystemError> {
        match self {
            Self::Content(_) => lock_moment(&entry.path),
            Self::Anything => Ok(None),
        }
    }

    /// Fails if the file has another content by now.
    fn check(self, entry: &EntryHandle) -> Result<(), SystemError> {
        let Self::Content(Some(expected)) = self else { return Ok(()) };
        match content(entry) {
            Ok(bytes) if bytes == expected => Ok(()),
            Ok(_) | Err(SystemError::NotFound(_)) => Err(SystemError::Changed(entry.path.clone())),
            Err(error) => Err(error),
        }
    }
}

fn write(
    entry: &EntryHandle,
    existing: Option<&EntryMetadata>,
    leftovers: &Leftovers,
    bytes: &[u8],
    over: Over<'_>,
) -> Result<(), SystemError> {
    let Some(found) = existing else {
        return replace_by_rename(entry, None, NEW_FILE_MODE, leftovers, bytes, over);
    };
    may_write(entry)?;
    if found.links > 1 {
        return overwrite_in_place(entry, bytes, over);
    }
    match replace_by_rename(entry, existing, PRIVATE_MODE, leftovers, bytes, over) {
        // The file is a mount point, as one file of a container often is.
        Err(SystemError::Io { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => {
            overwrite_in_place(entry, bytes, over)
        }
        done => done,
    }
}

/// Fails if the file is read-only. A rename needs the directory's permission only, so it would
/// replace a read-only file.
fn may_write(entry: &EntryHandle) -> Result<(), SystemError> {
    rustix::fs::accessat(&entry.directory, &entry.name, rustix::fs::Access::WRITE_OK, AtFlags::empty())
        .map_err(|source| fail(entry, source.into()))
}

/// A temporary file next to the one that is replaced. Removed on failure, or by a later process if
/// this one is killed.
struct Temporary<'a> {
    entry: &'a EntryHandle,
    leftovers: &'a Leftovers,
    name: String,
    kept: bool,
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = rustix::fs::unlinkat(&self.entry.directory, &self.name, AtFlags::empty())
        {
            tracing::debug!(%error, "a temporary file could not be removed");
            self.leftovers.leave();
        }
    }
}

/// Writes a new file next to the old one and renames it over the old one. The old content is
/// compared right before the rename.
fn replace_by_rename(
    entry: &EntryHandle,
    existing: Option<&EntryMetadata>,
    mode: Mode,
    leftovers: &Leftovers,
    bytes: &[u8],
    over: Over<'_>,
) -> Result<(), SystemError> {
    let fail = |source| fail(entry, source);
    let (mut temporary, mut file) = temporary(entry, mode, leftovers).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    if let Some(found) = existing {
        keep_attributes(entry, &file, found).map_err(fail)?;
    }
    file.sync_data().map_err(fail)?;
    let _lock = over.lock(entry)?;
    over.check(entry)?;
    let directory = &entry.directory;
    match over {
        Over::Content(None) => {
            rename_to_free_name(directory, temporary.name.as_ref(), directory, &entry.name).map_err(
                |source| match source.kind() {
                    io::ErrorKind::AlreadyExists => SystemError::Changed(entry.path.clone()),
                    _ => fail(source),
                },
            )?;
        }
        _ => rustix::fs::renameat(directory, &temporary.name, directory, &entry.name)
            .map_err(|source| fail(source.into()))?,
    }
    temporary.kept = true;
    Ok(())
}

/// Creates a temporary file with an unused name; fails if anything, including a link, exists there.
fn temporary<'a>(
    entry: &'a EntryHandle,
    mode: Mode,
    leftovers: &'a Leftovers,
) -> io::Result<(Temporary<'a>, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..TEMPORARY_TRIES {
        let name = leftovers.file_name(entry)?;
        match rustix::fs::openat(&entry.directory, &name, flags, mode) {
            Ok(file) => return Ok((Temporary { entry, leftovers, name, kept: false }, file.into())),
            Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("no name is free for a temporary file"))
}

/// Copies owner, extended attributes and mode to the new file. The owner comes first, because
/// changing it clears the set-user-ID and set-group-ID bits.
fn keep_attributes(entry: &EntryHandle, file: &File, found: &EntryMetadata) -> io::Result<()> {
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (found.user, found.group) {
        let (user, group) = (Uid::from_raw(found.user), Gid::from_raw(found.group));
        // Only root may change the owner, but a member of a group may set that group.
        if let Err(error) = rustix::fs::fchown(file, Some(user), Some(group))
            .or_else(|_| rustix::fs::fchown(file, None, Some(group)))
        {
            tracing::debug!(%error, "the owner of a replaced file could not be kept");
        }
    }
    if let Err(error) = keep_extended_attributes(entry, file) {
        tracing::debug!(%error, path = %entry.path, "the extended attributes of a replaced file could not be kept");
    }
    file.set_permissions(Permissions::from_mode(found.permissions))
}

/// Copies the extended attributes that belong to the file and not to its content: those of users,
/// access control lists and labels.
fn keep_extended_attributes(entry: &EntryHandle, file: &File) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
    let old = entry.file("read", OFlags::RDONLY).map_err(io::Error::other)?;
    let mut buffer = vec![0; XATTR_BYTES];
    let length = flistxattr(&old, &mut buffer[..])?;
    let names = buffer[..length].to_vec();
    for name in names.split(|byte| *byte == 0).filter(|name| is_kept(name)) {
        let length = fgetxattr(&old, name, &mut buffer[..])?;
        fsetxattr(file, name, &buffer[..length], XattrFlags::empty())?;
    }
    Ok(())
}

/// Whether an extended attribute stays the same when the content is written.
fn is_kept(name: &[u8]) -> bool {
    let kept: [&[u8]; 3] = [b"system.posix_acl_access", b"system.nfs4_acl", b"security.selinux"];
    !name.is_empty() && (!cfg!(target_os = "linux") || name.starts_with(b"user.") || kept.contains(&name))
}

/// Overwrites a file in place: one that has several hard links, which a rename would separate, or
/// one that cannot be renamed over. This is not atomic for a reader, but if it fails, the old
/// content is written back.
fn overwrite_in_place(entry: &EntryHandle, bytes: &[u8], over: Over<'_>) -> Result<(), SystemError> {
    let fail = |source| fail(entry, source);
    let mut file = entry.file("write", OFlags::RDWR)?;
    let size = file.metadata().map_err(fail)?.len();
    if size > MAX_READ_BYTES {
        return Err(SystemError::TooLarge { path: entry.path.clone(), size, limit: MAX_READ_BYTES });
    }
    let _lock = over.lock(entry)?;
    let mut before = Vec::new();
    file.read_to_end(&mut before).map_err(fail)?;
    if matches!(over, Over::Content(expected) if expected != Some(before.as_slice())) {
        return Err(SystemError::Changed(entry.path.clone()));
    }
    overwrite(&mut file, bytes).map_err(|source| {
        if let Err(error) = overwrite(&mut file, &before) {
            tracing::error!(path = %entry.path, %error, "a failed write could not be undone");
        }
        fail(source)
    })
}

fn overwrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_data()
}

fn fail(entry: &EntryHandle, source: io::Error) -> SystemError {
    SystemError::from_io("write", &entry.path, source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};

    #[test]
    fn a_rename_that_fails_leaves_no_temporary_file() {
        let directory = tempfile::tempdir().unwrap();
        let target = AbsPath::from_os(&directory.path().join("taken")).unwrap();
        fs::create_dir(target.as_std()).unwrap();
        let entry = EntryHandle::open(&target, false).unwrap();
        replace_by_rename(&entry, None, NEW_FILE_MODE, &Leftovers::default(), b"x", Over::Anything)
            .unwrap_err();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_write_in_place_shortens_and_lengthens() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old and longer").unwrap();
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        overwrite(&mut file, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        overwrite(&mut file, b"old and longer").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old and longer");
    }
}
