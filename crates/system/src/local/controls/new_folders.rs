//! The folders that editors and agents obey and that commands create. The launcher renames such a
//! folder when it appears, and the command finds it where it was. The user decides about its files.

use super::findings::Findings;
use super::folders::{content, plain_files};
use crate::local::aside::ASIDE;
use crate::{AbsPath, ControlChange, ControlPlace};
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
        let exists = is_there(path);
        let first = || (0..).find(|number| !is_there(&aside(path, *number))).unwrap_or_default();
        (!exists).then(|| Self { path: path.clone(), first: first() })
    }

    /// Adds the files that commands have created in the folder.
    pub(super) fn find(&self, directory: &AbsPath, findings: &mut Findings) {
        let asides = (self.first..).map(|number| aside(&self.path, number));
        for aside in asides.take_while(is_there) {
            // One with links or with too much in it stays as it is.
            for file in plain_files(&aside).unwrap_or_default() {
                let Some(now) = content(&aside.join(&file)) else { continue };
                let change = ControlChange {
                    path: self.path.join(&file),
                    settings: Vec::new(),
                    before: None,
                    executable: now.is_executable(),
                    after: Some(now.bytes),
                    place: ControlPlace::Aside(Some(aside.join(&file))),
                };
                findings.add(directory, change);
            }
        }
    }
}

/// Returns the path of a renamed folder, as the launcher chooses it.
fn aside(path: &AbsPath, number: usize) -> AbsPath {
    let number = if number == 0 { String::new() } else { format!("-{number}") };
    let name = format!("{}{ASIDE}{number}", path.file_name().unwrap_or_default());
    path.parent().unwrap_or_else(|| path.clone()).join(&name)
}

fn is_there(path: &AbsPath) -> bool {
    fs::symlink_metadata(path.as_std()).is_ok()
}
