//! The leases that this process holds, with the number of each session's last event.

use agent::{Lease, SessionId};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// What this process knows of the end of a session that it holds.
pub(super) struct Held {
    /// The number of its last acknowledged event.
    pub(super) last_seq: u64,
    /// Whether an append began whose outcome is not known.
    pub(super) is_unsettled: bool,
}

/// A lease's end of the log. An append holds it from its beginning to its answer.
pub(super) type End = Arc<tokio::sync::Mutex<Held>>;

#[derive(Default)]
pub(super) struct Leases(Mutex<HashMap<SessionId, (u64, End)>>);

impl Leases {
    /// Adds a lease that was just taken; replaces an older one of the session.
    pub(super) fn put(&self, lease: &Lease, last_seq: u64) {
        let end = Arc::new(tokio::sync::Mutex::new(Held { last_seq, is_unsettled: false }));
        self.lock().insert(lease.session.clone(), (lease.epoch, end));
    }

    /// Returns a lease that this process holds, as far as it knows.
    pub(super) fn get(&self, lease: &Lease) -> Option<End> {
        let leases = self.lock();
        let (epoch, end) = leases.get(&lease.session)?;
        (*epoch == lease.epoch).then(|| Arc::clone(end))
    }

    /// Removes a lease, unless a newer one of the session was taken meanwhile.
    pub(super) fn remove(&self, lease: &Lease) {
        let mut leases = self.lock();
        if leases.get(&lease.session).is_some_and(|(epoch, _)| *epoch <= lease.epoch) {
            leases.remove(&lease.session);
        }
    }

    /// Removes the lease of a session that was deleted.
    pub(super) fn forget(&self, id: &SessionId) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, (u64, End)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
