//! Renames files that other programs would execute or obey by themselves.

use super::entry::EntryHandle;
use super::files::rename_to_free_name;
use crate::AbsPath;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;

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
