//! A session's way to its store and its client: what is durable is stored first, then told.

use crate::{
    Client, Lease, PermissionOutcome, PermissionRequest, SessionEvent, SessionStore, StoreError, Surface,
    limits::EVENTS_PAGE,
    live::Live,
    shown::{self, Cleaner},
    watchers::Watchers,
};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};
use system::AbsPath;

/// Records events and tells the client of them.
#[derive(Clone)]
pub(crate) struct SessionLog {
    store: Arc<dyn SessionStore>,
    lease: Lease,
    client: Arc<dyn Client>,
    told: Arc<Told>,
    cleaner: Arc<Cleaner>,
    /// Held from storing events until they are told: they are told in the order they are stored in.
    recording: Arc<tokio::sync::Mutex<()>>,
}

/// How far the client was told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// What it was told. Held while it is told of something.
    state: Mutex<State>,
    /// Somebody else has taken the session over.
    lost: AtomicBool,
    /// Storing was reported as failed, which does not say that nothing was stored.
    doubted: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last stored event.
    last: u64,
    /// What is not stored.
    live: Live,
}

impl Told {
    /// Runs `then` while nothing is told; the number of the last stored event that was, and what was told that is not stored.
    pub(crate) fn at_rest(&self, then: impl FnOnce()) -> (u64, Vec<SessionEvent>) {
        let state = self.lock();
        then();
        (state.last, state.live.events())
    }

    /// Lets one more client be told from here on; false when the session is over.
    pub(crate) fn join(&self, watchers: &Watchers, surface: Surface) -> bool {
        let state = self.lock();
        surface.client.catch_up(&state.live.events());
        watchers.join(surface)
    }

    /// Whether somebody else has taken the session over.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A client that panicked was told all the same.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionLog {
    /// A log whose events up to number `last` are no news to the client.
    pub(crate) fn new(
        store: Arc<dyn SessionStore>,
        lease: Lease,
        client: Arc<dyn Client>,
        last: u64,
    ) -> Self {
        let told =
            Arc::new(Told { state: Mutex::new(State { last, live: Live::default() }), ..Told::default() });
        Self { store, lease, client, told, cleaner: Arc::default(), recording: Arc::default() }
    }

    /// Stores the durable ones among the events, all or none, and then tells the client of each of them, in order. When storing fails the
    /// client is told of nothing: what it saw would not be there after a restart.
    pub(crate) async fn record(&self, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        let _in_order = self.recording.lock().await;
        let durable: Vec<_> = events.iter().filter(|event| event.is_durable()).cloned().collect();
        let stored = if durable.is_empty() { None } else { Some(self.append(durable).await?) };
        let mut state = self.told.lock();
        events.iter().for_each(|event| self.notify(&mut state, event));
        state.last = stored.unwrap_or(state.last);
        Ok(())
    }

    /// Tells the client of what is stored although storing it was reported as failed: a call that ended then would be shown as running
    /// for ever. Nothing is read where nothing failed.
    pub(crate) async fn tell_missed(&self) -> Result<(), StoreError> {
        while self.told.doubted.load(Ordering::Acquire) {
            let last = self.told.lock().last;
            let page = self.store.events(&self.lease.session, last, EVENTS_PAGE).await?;
            if page.is_empty() {
                self.told.doubted.store(false, Ordering::Release);
            }
            let mut state = self.told.lock();
            for (number, event) in page {
                if number > state.last {
                    self.notify(&mut state, &event);
                    state.last = number;
                }
            }
        }
        Ok(())
    }

    /// Tells the client of something that is not stored.
    pub(crate) fn tell(&self, event: SessionEvent) {
        debug_assert!(!event.is_durable(), "a durable event must be recorded: {event:?}");
        self.notify(&mut self.told.lock(), &event);
    }

    fn notify(&self, state: &mut State, event: &SessionEvent) {
        let shown = self.cleaner.event(event.clone());
        state.live.note(&shown);
        self.client.notify(&shown);
    }

    /// Asks the client; what it shows is cleaned as events are.
    pub(crate) async fn ask(&self, request: PermissionRequest) -> PermissionOutcome {
        self.client.request_permission(shown::request(request)).await
    }

    /// Stores the further folders.
    pub(crate) async fn set_directories(&self, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        self.noting_loss(self.store.set_directories(&self.lease, folders).await)
    }

    pub(crate) fn client(&self) -> &Arc<dyn Client> {
        &self.client
    }

    pub(crate) fn told(&self) -> &Arc<Told> {
        &self.told
    }

    pub(crate) async fn release(&self) -> Result<(), StoreError> {
        self.store.release(&self.lease).await
    }

    async fn append(&self, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        let stored = self.noting_loss(self.store.append(&self.lease, events).await);
        if stored.is_err() {
            self.told.doubted.store(true, Ordering::Release);
        }
        stored
    }

    fn noting_loss<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if matches!(result, Err(StoreError::Fenced(_) | StoreError::NotFound(_))) {
            self.told.lost.store(true, Ordering::Release);
        }
        result
    }
}
