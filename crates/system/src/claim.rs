//! The right to change files.
//!
//! A change is computed from a text and replaces that text. [`System::replace_text`] refuses it if
//! the text is another one by then; a claim keeps the other writers of this program waiting, so
//! that this happens only if another program writes.
//!
//! [`System::replace_text`]: crate::System::replace_text

use crate::AbsPath;
use std::{
    any::Any,
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The writers that wait for each file, by the file's resolved path.
static FILES: LazyLock<Mutex<HashMap<AbsPath, Weak<AsyncMutex<()>>>>> = LazyLock::new(Mutex::default);

/// The right to change some files. It is given up when this value is dropped.
#[derive(Debug)]
pub struct Claim {
    // Fields are dropped in order: a waiting writer of this process finds the locks released.
    _locks: Vec<Box<dyn Any + Send + Sync>>,
    _turns: Vec<OwnedMutexGuard<()>>,
}

impl Claim {
    /// Waits until no other claim in this process covers one of the files, given by their resolved
    /// paths.
    pub async fn in_process(mut files: Vec<AbsPath>) -> Self {
        // All claims are taken in the same order, so that no two wait for each other.
        files.sort();
        files.dedup();
        let mut turns = Vec::with_capacity(files.len());
        for file in files {
            turns.push(turn(file).lock_owned().await);
        }
        Self { _locks: Vec::new(), _turns: turns }
    }

    /// Adds locks that are held for as long as the claim.
    pub(crate) fn with_locks<T: Send + Sync + 'static>(mut self, locks: Vec<T>) -> Self {
        self._locks = locks.into_iter().map(|lock| Box::new(lock) as Box<dyn Any + Send + Sync>).collect();
        self
    }
}

/// Returns the mutex of a file, and forgets those that are not used.
fn turn(file: AbsPath) -> Arc<AsyncMutex<()>> {
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(turn) = files.get(&file).and_then(Weak::upgrade) {
        return turn;
    }
    files.retain(|_, turn| turn.strong_count() > 0);
    let turn = Arc::default();
    files.insert(file, Arc::downgrade(&turn));
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn claims_of_one_file_wait_for_each_other() {
        let paths = |names: &[&str]| names.iter().map(|name| AbsPath::new(name).unwrap()).collect();
        let first = Claim::in_process(paths(&["/claims/b", "/claims/a", "/claims/b"])).await;
        let second = Claim::in_process(paths(&["/claims/a"]));
        let other = Claim::in_process(paths(&["/claims/c"])).await;
        tokio::pin!(second);
        assert!(futures::poll!(&mut second).is_pending());
        drop((first, other));
        second.await;
        assert!(
            FILES.lock().unwrap().keys().filter(|path| path.as_str().starts_with("/claims")).count() <= 3
        );
    }
}
