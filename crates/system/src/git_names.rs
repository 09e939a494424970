//! The files and directories of a project that git's configuration names.

use crate::AbsPath;

/// Files and directories that git runs or reads because its configuration or its hooks name them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitNames {
    /// The directories of hooks.
    pub folders: Vec<AbsPath>,
    /// Included files, programs, and targets of links among the hooks.
    pub files: Vec<AbsPath>,
}

impl GitNames {
    /// Returns whether a file is named, or below a directory that is.
    pub fn has(&self, path: &AbsPath) -> bool {
        self.files.contains(path) || self.folders.iter().any(|folder| path.starts_with(folder))
    }
}
