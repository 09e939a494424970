//! Removes what processes that have ended left behind.
//!
//! Notes are read, and the paths in them opened, long after they were written. The owner of a noted
//! directory may have changed it since, to make this process remove something else. Therefore a
//! directory is opened without following any link and must be the one that was noted (same device
//! and inode). Its entries are removed by name relative to the open directory, and only if the name
//! contains the mark, which no other user would give to a file, and the file has no other hard
//! link.

use super::{DIRECTORY_PREFIX, FILE_AFFIXES, RECORD_END, TOKEN_CHARS, run_directory};
use crate::AbsPath;
use crate::limits::{NOTES_BYTES, TEMP_AGE};
use crate::local::{directory, private_directory};
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, statat, unlinkat,
};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

/// Removes what processes of this user that have ended left behind, if it certainly belonged to
/// them. Blocks; what cannot be removed stays.
pub(in crate::local) fn sweep() {
    if let Ok(run) = run_directory()
        && run.as_std().is_dir()
    {
        sweep_in(&run);
    }
}

pub(super) fn sweep_in(run: &AbsPath) {
    if let Err(error) = private_directory::create(run) {
        return tracing::debug!(%error, %run, "files of killed processes could not be removed");
    }
    for name in names(run).into_iter().filter(|name| is_token(name)) {
        if let Err(error) = sweep_process(run, &name) {
            tracing::debug!(%error, mark = name, "files of a killed process could not be removed");
        }
    }
}

/// Removes what the process with a mark left behind, and then its notes. Does nothing while the
/// process runs.
fn sweep_process(run: &AbsPath, mark: &str) -> io::Result<()> {
    let path = run.join(mark);
    let found = fs::symlink_metadata(path.as_std())?;
    let is_old = found.modified()?.elapsed().is_ok_and(|age| age > TEMP_AGE);
    if found.file_type().is_socket() {
        // Earlier versions kept no notes: their sockets are removed by age.
        return if is_old { fs::remove_file(path.as_std()) } else { Ok(()) };
    }
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).map_err(io::Error::other)?;
    let notes = File::options().read(true).custom_flags(flags).open(path.as_std())?;
    if !notes.metadata()?.is_file() || flock(&notes, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(());
    }
    if notes.metadata()?.nlink() == 0 {
        // The owner, or another process that sweeps, removed the notes first.
        return Ok(());
    }
    let mut records = Vec::new();
    (&notes).take(NOTES_BYTES).read_to_end(&mut records)?;
    // The last record has no separator if its process was killed while writing it; nothing had been
    // created in that directory yet.
    let whole = records.iter().rposition(|byte| *byte == RECORD_END).unwrap_or(0);
    let mut is_done = true;
    for (device, number, path) in records[..whole].split(|byte| *byte == RECORD_END).filter_map(record) {
        if let Err(error) = remove_marked_entries(device, number, &path, mark) {
            tracing::debug!(%error, %path, "temporary files could not be removed");
            is_done = false;
        }
    }
    let socket = |name: &String| name.strip_prefix(mark).is_some_and(|rest| rest.starts_with('-'));
    for name in names(run).into_iter().filter(socket) {
        fs::remove_file(run.join(&name).as_std())?;
    }
    // A directory may be temporarily unavailable, on a disk that is not attached or in another
    // container.
    if is_done || is_old { fs::remove_file(path.as_std()) } else { Ok(()) }
}

/// Parses a record into device, inode and path of a directory; `None` if it is invalid.
fn record(bytes: &[u8]) -> Option<(&str, &str, AbsPath)> {
    let mut fields = str::from_utf8(bytes).ok()?.splitn(3, ' ');
    Some((fields.next()?, fields.next()?, AbsPath::new(fields.next()?).ok()?))
}

/// Removes the entries with the mark from a noted directory. Fails if the directory may become
/// available later.
fn remove_marked_entries(device: &str, number: &str, path: &AbsPath, mark: &str) -> io::Result<()> {
    let opened = match directory::open_directory(path) {
        Err(rustix::io::Errno::NOENT) => None,
        opened => Some(opened?),
    };
    let found = match &opened {
        Some(directory) => fstat(directory)?,
        None => fstat(open_nearest_ancestor(path)?)?,
    };
    if found.st_dev.to_string() != device {
        return Err(io::Error::other("its file system is not available"));
    }
    let Some(directory) = opened.filter(|_| found.st_ino.to_string() == number) else {
        // Removed, or moved to an unknown place.
        return Ok(());
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    for entry in Dir::new(openat(&directory, ".", flags, Mode::empty())?)? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().to_str() {
            remove_if_marked(&directory, path, name, mark)?;
        }
    }
    Ok(())
}

/// Opens the deepest existing ancestor of a path.
fn open_nearest_ancestor(path: &AbsPath) -> io::Result<OwnedFd> {
    let mut directories = std::iter::successors(path.parent(), AbsPath::parent);
    directories
        .find_map(|directory| directory::open_directory(&directory).ok())
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Removes an entry of a directory, if its name contains the mark and its type matches the name.
fn remove_if_marked(directory: &OwnedFd, path: &AbsPath, name: &str, mark: &str) -> io::Result<()> {
    let marked = |before: &str, after: &str| {
        let token = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        token.and_then(|token| token.strip_prefix(mark)).is_some_and(is_token)
    };
    let (is_file, is_directory) = (marked(FILE_AFFIXES.0, FILE_AFFIXES.1), marked(DIRECTORY_PREFIX, ""));
    if !is_file && !is_directory {
        return Ok(());
    }
    let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode) {
        // A second hard link means that its creator wants to keep the file.
        FileType::RegularFile if is_file && found.st_nlink == 1 => {
            Ok(unlinkat(directory, name, AtFlags::empty())?)
        }
        FileType::Directory if is_directory && found.st_uid == rustix::process::geteuid().as_raw() => {
            // Links in the directory are removed, not followed.
            fs::remove_dir_all(path.join(name).as_std())
        }
        _ => Ok(()),
    }
}

fn is_token(name: &str) -> bool {
    name.len() == TOKEN_CHARS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn names(directory: &AbsPath) -> Vec<String> {
    let entries = fs::read_dir(directory.as_std()).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
