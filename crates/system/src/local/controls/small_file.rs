//! Reads and replaces the files that commands change in copies.

use crate::limits::CONTROL_FILE_BYTES;
use crate::local::entry::EntryHandle;
use crate::{AbsPath, SystemError};
use rustix::fs::{Mode, OFlags};
use std::fs::{File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

/// Returns the name of the copy of a file.
pub(super) fn name(path: &AbsPath) -> String {
    let mut hasher = DefaultHasher::new();
    path.as_str().hash(&mut hasher);
    format!("{:016x}-{}", hasher.finish(), path.file_name().unwrap_or_default())
}

/// Reads a regular file of a limited size with one name, without following links.
pub(in crate::local) fn read(path: &AbsPath) -> Option<String> {
    let entry = EntryHandle::open(path, false).ok()?;
    let found = entry.regular("read").ok()??;
    let file = entry.file("read", OFlags::RDONLY).ok()?;
    let is_small = file.metadata().is_ok_and(|found| found.len() <= CONTROL_FILE_BYTES);
    let mut text = String::new();
    file.take(CONTROL_FILE_BYTES).read_to_string(&mut text).ok()?;
    (is_small && found.links == 1).then_some(text)
}

/// Replaces a file, or creates it, through a new file beside it with `suffix`, which must not
/// exist. Without `mode`, it keeps the one that it has.
pub(super) fn write(
    path: &AbsPath,
    content: &[u8],
    suffix: &str,
    mode: Option<u32>,
) -> Result<(), SystemError> {
    let entry = EntryHandle::open(path, true)?;
    let fail = |error: rustix::io::Errno| SystemError::from_io("write", path, error.into());
    let known = || entry.regular("write").ok().flatten().map_or(0o600, |found| found.permissions & 0o777);
    let mode = mode.unwrap_or_else(known);
    let mut new = entry.name.clone();
    new.push(suffix);
    if suffix != LOCK {
        rustix::fs::unlinkat(&entry.directory, &new, rustix::fs::AtFlags::empty()).ok();
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let private = Mode::from_raw_mode(0o600);
    let file = rustix::fs::openat(&entry.directory, &new, flags, private).map_err(fail)?;
    let mut file = File::from(file);
    let written = file.set_permissions(Permissions::from_mode(mode));
    let written = written.and_then(|()| file.write_all(content));
    // A copy that is lost is made again.
    let written = written.and_then(|()| if suffix == LOCK { file.sync_all() } else { Ok(()) });
    let renamed = written.map_err(|source| SystemError::from_io("write", path, source)).and_then(|()| {
        rustix::fs::renameat(&entry.directory, &new, &entry.directory, &entry.name).map_err(fail)
    });
    if renamed.is_err() {
        rustix::fs::unlinkat(&entry.directory, &new, rustix::fs::AtFlags::empty()).ok();
    }
    renamed
}

/// The suffix of git's lock files.
pub(super) const LOCK: &str = ".lock";

/// The suffix of other new files. A file of the user has another one.
pub(super) const NEW: &str = ".tiller-new";
