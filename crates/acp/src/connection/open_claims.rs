//! Tracks sessions that requests open until they are answered, so that a cancelled request leaves
//! no session open and no lease held.

use super::{Connection, Peer, Wire, errors};
use agent::{Client, SessionHandle, SessionId};
use agent_client_protocol::{Error, RequestCancellation};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The sessions that this client has open or is opening.
#[derive(Debug, Default)]
pub(super) struct OpenClaims(Mutex<HashMap<SessionId, OpenClaim>>);

#[derive(Debug, Default)]
struct OpenClaim {
    /// Unanswered requests that open it.
    opening: usize,
    /// Whether the client was informed that it is open.
    is_open: bool,
}

impl OpenClaims {
    /// Registers a request that opens a session.
    pub(super) fn begin_opening(&self, id: &SessionId) {
        self.lock().entry(id.clone()).or_default().opening += 1;
    }

    /// Registers that a request was answered with the session it opened.
    fn mark_open(&self, id: &SessionId) {
        let mut claims = self.lock();
        let claim = claims.entry(id.clone()).or_default();
        claim.opening = claim.opening.saturating_sub(1);
        claim.is_open = true;
    }

    /// Registers that a request was answered without the session it was to open. Returns whether
    /// nothing else of this client needs the session.
    fn end_opening(&self, id: &SessionId) -> bool {
        let mut claims = self.lock();
        let Some(claim) = claims.get_mut(id) else { return true };
        claim.opening = claim.opening.saturating_sub(1);
        let unwanted = claim.opening == 0 && !claim.is_open;
        if unwanted {
            claims.remove(id);
        }
        unwanted
    }

    /// Registers that the client closed the session.
    pub(super) fn mark_closed(&self, id: &SessionId) {
        let mut claims = self.lock();
        if let Some(claim) = claims.get_mut(id) {
            claim.is_open = false;
            if claim.opening == 0 {
                claims.remove(id);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, OpenClaim>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Wire> Connection<W> {
    /// Marks a session as open, just before the client is informed of it.
    pub(crate) fn mark_open(&self, id: &SessionId) {
        self.claims.mark_open(id);
    }

    /// Leaves a session that a cancelled request opened, unless the client has it open otherwise.
    /// Closes it and releases its lease if it has no other subscribers.
    pub(crate) async fn leave_cancelled(&self, peer: &Peer<W>, id: &SessionId) {
        if !self.claims.end_opening(id) {
            return;
        }
        // Remove first, so that a concurrent request that reopens the session subscribes its own
        // client.
        let Some(client) = self.sessions().remove(id) else { return };
        let client: Arc<dyn Client> = client;
        if let Some(handle) = self.runtime.find(id)
            && handle.notifies(&client)
            && !handle.leave(&client)
        {
            handle.close().await;
        }
        if !self.sessions().contains_key(id) {
            peer.outbox.forget(id);
        }
    }

    /// Returns a session that was created for a request. If the request was cancelled meanwhile,
    /// deletes the session and returns an error.
    pub(super) async fn created_unless_cancelled(
        &self,
        peer: &Peer<W>,
        handle: SessionHandle,
        cancellation: &RequestCancellation,
    ) -> Result<SessionHandle, Error> {
        if !cancellation.is_cancelled() {
            self.mark_open(handle.id());
            return Ok(handle);
        }
        let id = handle.id();
        self.leave_cancelled(peer, id).await;
        if let Err(error) = self.runtime.delete(id).await {
            tracing::warn!(session = %id, %error, "a session whose request was cancelled could not be deleted");
        }
        Err(errors::request_cancelled())
    }
}
