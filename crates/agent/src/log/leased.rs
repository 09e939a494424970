//! A session's stored log, with the lease to write to it.

use crate::{FolderFacts, Lease, LeaseLife, SessionEvent, SessionId, SessionStore, StoreError};
use std::sync::Arc;
use system::AbsPath;

/// A session's stored log, with the lease to write to it.
///
/// A running session records through [`SessionLog`](super::SessionLog), which also applies the
/// events and sends them to the client. The runtime uses this type itself for a session that no
/// task runs.
#[derive(Clone)]
pub(crate) struct LeasedLog {
    store: Arc<dyn SessionStore>,
    lease: Lease,
    life: Option<Arc<dyn LeaseLife>>,
}

impl LeasedLog {
    pub(crate) fn new(store: Arc<dyn SessionStore>, lease: Lease) -> Self {
        let life = store.lease_life();
        Self { store, lease, life }
    }

    /// Refuses once another process may have taken the lease. Checked before each side effect.
    pub(crate) fn confirm(&self) -> Result<(), StoreError> {
        match &self.life {
            Some(life) if !life.is_live() => Err(StoreError::Unconfirmed(self.lease.session.clone())),
            _ => Ok(()),
        }
    }

    /// Completes once another process may have taken the lease. Never completes for leases that
    /// last until they are released or taken over.
    pub(crate) async fn unconfirmed(&self) {
        match &self.life {
            Some(life) => life.ended().await,
            None => std::future::pending().await,
        }
    }

    /// Returns the session whose log this is.
    pub(crate) fn session(&self) -> &SessionId {
        &self.lease.session
    }

    /// Returns the store, for reading.
    pub(crate) fn store(&self) -> &dyn SessionStore {
        self.store.as_ref()
    }

    pub(crate) fn shared_store(&self) -> Arc<dyn SessionStore> {
        Arc::clone(&self.store)
    }

    /// Stores events, all or none. Returns the number of the last event, also for no events.
    pub(crate) async fn append(&self, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        self.store.append(&self.lease, events).await
    }

    /// Stores the additional directories.
    pub(crate) async fn set_directories(&self, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        self.store.set_directories(&self.lease, folders).await
    }

    /// Stores the session's directory.
    pub(crate) async fn set_cwd(&self, cwd: AbsPath) -> Result<(), StoreError> {
        self.store.set_cwd(&self.lease, cwd).await
    }

    /// Stores what is known of the session's directory.
    pub(crate) async fn set_folder(&self, facts: FolderFacts) -> Result<(), StoreError> {
        self.store.set_folder(&self.lease, facts).await
    }

    pub(crate) async fn release(&self) -> Result<(), StoreError> {
        self.store.release(&self.lease).await
    }

    /// Releases the lease after another step failed; the caller reports that step's error.
    pub(crate) async fn give_back(&self) {
        if let Err(error) = self.release().await {
            tracing::warn!(session = %self.session(), %error, "the lease of a session could not be given back");
        }
    }
}
