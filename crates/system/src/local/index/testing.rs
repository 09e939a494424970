//! A project for tests.

use super::{Found, GitDirectories, Indexes};
use crate::{AbsPath, Sandbox, SecretPaths, View};
use std::fs;

/// A directory with an index, in which files called `plan.txt` are secret.
pub(in crate::local) struct Project {
    _dir: tempfile::TempDir,
    pub(in crate::local) top: AbsPath,
    pub(super) indexes: Indexes,
    pub(super) sandbox: Sandbox,
}

impl Project {
    pub(in crate::local) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let sandbox = Sandbox {
            view: View { roots: vec![top.clone()], ..View::default() },
            secret: SecretPaths { patterns: vec!["*plan.txt".to_owned()], ..SecretPaths::default() },
            ..Sandbox::default()
        };
        Self { _dir: dir, top, indexes: Indexes::default(), sandbox }
    }

    pub(in crate::local) fn write(&self, name: &str, text: &str) {
        let path = self.top.join(name);
        fs::create_dir_all(path.parent().unwrap().as_std()).unwrap();
        fs::write(path.as_std(), text).unwrap();
    }

    pub(in crate::local) fn rename(&self, from: &str, to: &str) {
        fs::rename(self.top.join(from).as_std(), self.top.join(to).as_std()).unwrap();
    }

    pub(in crate::local) fn link(&self, name: &str) {
        std::os::unix::fs::symlink("/nowhere", self.top.join(name).as_std()).unwrap();
    }

    pub(in crate::local) fn has(&self, name: &str) -> bool {
        self.top.join(name).as_std().symlink_metadata().is_ok()
    }

    pub(super) fn found(&self) -> Found {
        self.indexes.of(&self.sandbox).scan().unwrap()
    }

    /// Returns the secret files, relative to the project.
    pub(super) fn secrets(&self) -> Vec<String> {
        let found = self.found().secrets;
        let mut names: Vec<_> =
            found.iter().filter_map(|path| path.relative_to(&self.top)).map(str::to_owned).collect();
        names.sort();
        names
    }

    pub(in crate::local) fn git(&self) -> GitDirectories {
        self.indexes.of(&self.sandbox).git_directories().unwrap()
    }
}
