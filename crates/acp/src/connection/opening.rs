//! Sessions that requests open, until they are answered: what is taken back before that leaves
//! nothing open and no lease held.

use super::{Connection, Peer, Wire, errors};
use agent::{Client, SessionHandle, SessionId};
use agent_client_protocol::{Error, RequestCancellation};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Which sessions this client has open, or is opening.
#[derive(Debug, Default)]
pub(super) struct Claims(Mutex<HashMap<SessionId, Claim>>);

#[derive(Debug, Default)]
struct Claim {
    /// The requests that open it and are not answered yet.
    opening: usize,
    /// The client was told that it is open.
    kept: bool,
}

impl Claims {
    /// A request begins to open a session.
    pub(super) fn begin(&self, id: &SessionId) {
        self.lock().entry(id.clone()).or_default().opening += 1;
    }

    /// A request that opened a session is answered with it.
    fn keep(&self, id: &SessionId) {
        let mut claims = self.lock();
        let claim = claims.entry(id.clone()).or_default();
        claim.opening = claim.opening.saturating_sub(1);
        claim.kept = true;
    }

    /// A request that began to open a session is answered without it; whether nothing else of this
    /// client wants it open.
    fn end(&self, id: &SessionId) -> bool {
        let mut claims = self.lock();
        let Some(claim) = claims.get_mut(id) else { return true };
        claim.opening = claim.opening.saturating_sub(1);
        let unwanted = claim.opening == 0 && !claim.kept;
        if unwanted {
            claims.remove(id);
        }
        unwanted
    }

    /// The client closed the session.
    pub(super) fn closed(&self, id: &SessionId) {
        let mut claims = self.lock();
        if let Some(claim) = claims.get_mut(id) {
            claim.kept = false;
            if claim.opening == 0 {
                claims.remove(id);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Claim>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Wire> Connection<W> {
    /// The client is about to be told that a session is open.
    pub(crate) fn keep(&self, id: &SessionId) {
        self.claims.keep(id);
    }

    /// Leaves a session that a request opened and that the client is not told of, unless it has it
    /// open anyway. Where nobody else has it open it is closed, and its lease given back.
    pub(crate) async fn take_back(&self, peer: &Peer<W>, id: &SessionId) {
        if !self.claims.end(id) {
            return;
        }
        // First, so that a request that opens it anew meanwhile is told of it by a client of its
        // own.
        let Some(client) = self.sessions().remove(id) else { return };
        let client: Arc<dyn Client> = client;
        if let Some(handle) = self.runtime.find(id)
            && handle.tells(&client)
            && !handle.leave(&client)
        {
            handle.close().await;
        }
        if !self.sessions().contains_key(id) {
            peer.outbox.forget(id);
        }
    }

    /// A session that was made for a request: an error, and nothing left of it, where the request
    /// was taken back meanwhile.
    pub(super) async fn made(
        &self,
        peer: &Peer<W>,
        handle: SessionHandle,
        cancellation: &RequestCancellation,
    ) -> Result<SessionHandle, Error> {
        if !cancellation.is_cancelled() {
            self.keep(handle.id());
            return Ok(handle);
        }
        let id = handle.id();
        self.take_back(peer, id).await;
        if let Err(error) = self.runtime.delete(id).await {
            tracing::warn!(session = %id, %error, "a session whose request was taken back could not be removed");
        }
        Err(errors::request_cancelled())
    }
}
