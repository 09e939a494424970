//! The folders that editors and agents obey and that commands create. The launcher renames such a
//! folder when something is in it, and the command finds it where it was. When the command has
//! ended, the folder becomes the copy of one that does not exist.

use super::findings::Findings;
use super::folders::Folders;
use crate::AbsPath;
use crate::local::aside;
use std::fs;

/// A folder that does not exist before a command.
#[derive(Debug)]
pub(in crate::local) struct NewFolder {
    path: AbsPath,
    /// The number of the first name that is free for a renamed folder.
    first: usize,
}

impl NewFolder {
    /// Notes that a folder does not exist; `None` if it does.
    pub(in crate::local) fn expect(path: &AbsPath) -> Option<Self> {
        let first = || (0..).find(|number| !is_there(&aside(path, *number))).unwrap_or_default();
        (!is_there(path)).then(|| Self { path: path.clone(), first: first() })
    }

    /// Makes copies of the files that commands have created in the folder. Returns a line for a
    /// folder that keeps its new name.
    pub(super) fn take(
        &self,
        directory: &AbsPath,
        folders: &mut Folders,
        findings: &mut Findings,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for aside in (self.first..).map(|number| aside(&self.path, number)).take_while(is_there) {
            if let Err(why) = folders.adopt(&self.path, &aside, directory) {
                // The launcher has put an empty directory in its place.
                fs::remove_dir(self.path.as_std()).ok();
                lines.push(format!("{} was renamed to {aside}: {why}", self.path));
            }
        }
        let copy = folders.copy_of(&self.path, directory);
        lines.extend(folders.carry(&copy, directory, findings));
        lines
    }
}

/// Returns the path of a renamed folder, as the launcher chooses it.
fn aside(path: &AbsPath, number: usize) -> AbsPath {
    let name = aside::name(path.as_std().file_name().unwrap_or_default(), number);
    path.parent().unwrap_or_else(|| path.clone()).join_os(&name)
}

fn is_there(path: &AbsPath) -> bool {
    fs::symlink_metadata(path.as_std()).is_ok()
}
