//! Directories outside the project that a session may read without approval.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::AbsPath;

/// Directories, without links in their paths, whose files a session's tools may read without
/// approval. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ReadableDirectories(Arc<Mutex<BTreeSet<AbsPath>>>);

impl ReadableDirectories {
    /// Adds a directory, for the rest of the session.
    pub fn add(&self, directory: AbsPath) {
        self.lock().insert(directory);
    }

    /// Returns the directories, sorted.
    pub fn all(&self) -> Vec<AbsPath> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<AbsPath>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
