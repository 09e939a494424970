//! The folders that editors and agents obey and that commands create. The launcher renames such a
//! folder when something is in it, and the command finds it where it was. When the command has
//! ended, the folder becomes the copy of one that does not exist.

use super::Controls;
use super::findings::Findings;
use super::folders::Folders;
use crate::AbsPath;
use crate::local::aside::{self, Turns};
use std::fs;
use std::sync::Arc;

/// A folder that does not exist before a command.
#[derive(Debug)]
pub(in crate::local) struct NewFolder {
    pub(in crate::local) path: AbsPath,
    /// The number of the first name that is free for a renamed folder.
    first: Arc<usize>,
    turns: Arc<Turns>,
}

impl NewFolder {
    /// Notes which renamed folders there are before a command.
    pub(in crate::local) fn expect(path: &AbsPath, turns: &Arc<Turns>) -> Self {
        let first = aside::renamed(path.as_std(), 0).count();
        Self { path: path.clone(), first: Arc::new(first), turns: Arc::clone(turns) }
    }

    /// Lets other commands find the folder if this one creates it, until it is dropped.
    pub(in crate::local) fn announced(self, controls: &Controls) -> Self {
        Self { first: controls.expect(&self.path, *self.first), ..self }
    }

    /// Makes copies of the files that commands have created in the folder. A folder that another
    /// command finds at its old path is left to the last of them. Returns a line for a folder that
    /// keeps its new name.
    pub(super) fn take(
        &self,
        directory: &AbsPath,
        folders: &mut Folders,
        findings: &mut Findings,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        {
            let _turn = self.turns.take();
            let renamed = aside::renamed(self.path.as_std(), *self.first);
            for renamed in renamed.filter(|renamed| !aside::is_used(renamed)) {
                let Ok(renamed) = AbsPath::from_os(&renamed) else { continue };
                if let Err(why) = folders.adopt(&self.path, &renamed, directory) {
                    // The launcher has put an empty directory in its place.
                    fs::remove_dir(self.path.as_std()).ok();
                    lines.push(format!("{} was renamed to {renamed}: {why}", self.path));
                }
            }
        }
        let copy = folders.copy_of(&self.path, directory);
        lines.extend(folders.carry(&copy, directory, findings));
        lines
    }
}
