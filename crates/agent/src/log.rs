//! A session's way to its store and its client: what is durable is stored first, then told.

use crate::{
    Client, Lease, PermissionOutcome, PermissionRequest, SessionEvent, SessionStore, StoreError,
    shown::{self, Cleaner},
};
use std::sync::Arc;

/// Records events and tells the client of them.
#[derive(Clone)]
pub(crate) struct SessionLog {
    store: Arc<dyn SessionStore>,
    lease: Lease,
    client: Arc<dyn Client>,
    cleaner: Arc<Cleaner>,
}

impl SessionLog {
    pub(crate) fn new(store: Arc<dyn SessionStore>, lease: Lease, client: Arc<dyn Client>) -> Self {
        Self { store, lease, client, cleaner: Arc::default() }
    }

    /// Stores the durable ones among the events, all or none, and then tells the client of each of them, in order. When storing fails the
    /// client is told of nothing: what it saw would not be there after a restart.
    pub(crate) async fn record(&self, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        let durable: Vec<_> = events.iter().filter(|event| event.is_durable()).cloned().collect();
        if !durable.is_empty() {
            self.store.append(&self.lease, durable).await?;
        }
        events.iter().for_each(|event| self.client.notify(&self.cleaner.event(event)));
        Ok(())
    }

    /// Tells the client of something that is not stored.
    pub(crate) fn tell(&self, event: SessionEvent) {
        debug_assert!(!event.is_durable(), "a durable event must be recorded: {event:?}");
        self.client.notify(&self.cleaner.event(&event));
    }

    /// Asks the client; what it shows is cleaned as events are.
    pub(crate) async fn ask(&self, request: PermissionRequest) -> PermissionOutcome {
        self.client.request_permission(shown::request(request)).await
    }

    pub(crate) fn client(&self) -> &Arc<dyn Client> {
        &self.client
    }

    pub(crate) async fn release(&self) -> Result<(), StoreError> {
        self.store.release(&self.lease).await
    }
}
