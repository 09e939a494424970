//! The changes of commands that are not carried over.

use crate::{AbsPath, ControlChange};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Reports changes, and keeps those that the user decides about.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Descriptions of what was reported. Each change is reported once.
    reported: HashSet<String>,
    /// The changes that are not decided about, by the directories for the copies of sessions.
    pub(super) open: HashMap<AbsPath, Vec<ControlChange>>,
}

impl Findings {
    /// Returns a line about changes that stay in the sandbox, once.
    pub(super) fn report(&mut self, path: &AbsPath, why: &str) -> Vec<String> {
        let line = format!("a change of {path} is kept for commands in the sandbox only: {why}");
        self.reported.insert(line.clone()).then_some(line).into_iter().collect()
    }

    /// Adds a change of a session's commands, unless one with the same key was added before.
    pub(super) fn add(
        &mut self,
        directory: &AbsPath,
        key: impl Hash,
        change: impl FnOnce() -> ControlChange,
    ) {
        let mut hasher = DefaultHasher::new();
        (directory, key).hash(&mut hasher);
        if self.reported.insert(format!("{:016x}", hasher.finish())) {
            let change = change();
            let open = self.open.entry(directory.clone()).or_default();
            open.retain(|known| known.path != change.path);
            open.push(change);
        }
    }
}
