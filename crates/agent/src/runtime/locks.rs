//! One lock per stored session, held while it is opened, changed or removed.

use crate::SessionId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};
use tokio::sync::OwnedMutexGuard;

/// Serialises requests for the same session, so that they do not fence each other. Requests for
/// different sessions run concurrently.
#[derive(Debug, Default)]
pub(crate) struct SessionLocks(Mutex<HashMap<SessionId, Weak<tokio::sync::Mutex<()>>>>);

impl SessionLocks {
    /// Acquires the lock of a session, after the requests that came before.
    pub(crate) async fn lock(&self, id: &SessionId) -> OwnedMutexGuard<()> {
        self.of(id).lock_owned().await
    }

    fn of(&self, id: &SessionId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(id).and_then(Weak::upgrade) {
            return lock;
        }
        // Drop the locks that no request holds or waits for.
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        locks.insert(id.clone(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn locks_that_are_not_held_are_forgotten() {
        let locks = SessionLocks::default();
        for number in 0..100 {
            drop(locks.lock(&SessionId(number.to_string())).await);
        }
        assert_eq!(locks.0.lock().unwrap().len(), 1);
        let held = locks.lock(&SessionId("a".to_owned())).await;
        assert!(locks.of(&SessionId("a".to_owned())).try_lock().is_err());
        drop(held);
    }
}
