//! Renames files that other programs would execute or obey by themselves.

use super::entry::EntryHandle;
use super::files::rename_to_free_name;
use crate::AbsPath;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The maximum number of names that are tried.
const NAMES: usize = 100;

/// Returns the name for a renamed file with this name; the numbers are tried in order.
pub(super) fn name(name: &OsStr, number: usize) -> OsString {
    let mut aside = name.to_owned();
    aside.push(".not-trusted");
    if number > 0 {
        aside.push(format!("-{number}"));
    }
    aside
}

/// Lets the processes of a project rename new folders one at a time.
#[derive(Debug, Default)]
pub(super) struct Turns(Option<File>);

impl Turns {
    /// Opens the project's directory `own`, which commands cannot open. Without one, nothing is
    /// waited for.
    pub(super) fn open(own: Option<&AbsPath>) -> Self {
        Self(own.and_then(|own| File::open(own.as_std()).ok()))
    }

    /// Waits until no other process renames a new folder. The turn ends when it is dropped.
    pub(super) fn take(&self) -> Turn<'_> {
        let directory = self.0.as_ref();
        Turn(directory.filter(|directory| directory.lock().is_ok()))
    }
}

/// While it is held, no other process of the project renames a new folder.
#[derive(Debug)]
pub(super) struct Turn<'a>(Option<&'a File>);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(directory) = self.0 {
            directory.unlock().ok();
        }
    }
}

/// Returns whether a supervisor uses a renamed folder, which commands find at its old path: it has
/// the folder open, with a shared lock.
pub(super) fn is_used(folder: &Path) -> bool {
    open(folder).is_ok_and(|folder| flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err())
}

/// Opens a directory. A command may have put something else in its place, which is not waited for.
pub(super) fn open(folder: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::empty())
}

/// Returns the new paths of the folders and files that were renamed from `path`, beginning with the
/// one that has this number.
pub(super) fn renamed(path: &Path, first: usize) -> impl Iterator<Item = PathBuf> {
    let renamed = move |number| path.with_file_name(name(path.file_name().unwrap_or_default(), number));
    (first..).map(renamed).take_while(|path| fs::symlink_metadata(path).is_ok())
}

/// The result of an attempt to rename a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Aside {
    /// It has this name.
    Renamed(AbsPath),
    /// It is removed, because all such names were taken.
    Removed,
    /// It was gone.
    Gone,
}

/// Renames a file so that other programs do not find it.
///
/// A command in the background may exchange a directory of the path for a link, which is not
/// followed.
///
/// # Errors
/// The reason, if the file is still there.
pub(super) fn set_aside(path: &AbsPath) -> Result<Aside, String> {
    let entry = match EntryHandle::open(path, false) {
        Ok(entry) => entry,
        Err(error) if error.is_not_found() => return Ok(Aside::Gone),
        Err(error) => return Err(error.to_string()),
    };
    for number in 0..NAMES {
        let name = name(&entry.name, number);
        match rename_to_free_name(&entry.directory, &entry.name, &entry.directory, &name) {
            Ok(()) => {
                let directory = path.parent().unwrap_or_else(|| path.clone());
                return Ok(Aside::Renamed(directory.join_os(&name)));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Aside::Gone),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    match entry.remove() {
        Ok(()) => Ok(Aside::Removed),
        Err(error) => Err(error.to_string()),
    }
}
