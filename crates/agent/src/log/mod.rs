//! A session's way to its store and its client: what is durable is stored first, then applied, then
//! told.

pub(crate) mod live;
pub(crate) mod state;

use crate::{
    Client, Lease, PermissionOutcome, PermissionRequest, SessionEvent, SessionState, SessionStore,
    StoreError, Surface,
    client::display::{self, Cleaner},
    client::watchers::Watchers,
    history::conversation::Conversation,
    history::memory::Memory,
    limits::EVENTS_PAGE,
    log::live::Live,
};
use std::{
    panic::resume_unwind,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use system::AbsPath;
use tokio::{
    sync::watch,
    task::{JoinError, JoinHandle},
};

/// Records events and tells the client of them.
///
/// Architecture Invariant: what a session knows of itself changes by the events that are recorded
/// here, and by nothing else.
#[derive(Clone)]
pub(crate) struct SessionLog {
    store: Arc<dyn SessionStore>,
    lease: Lease,
    client: Arc<dyn Client>,
    told: Arc<Notified>,
    cleaner: Arc<Cleaner>,
    memory: Arc<Memory>,
    state: watch::Sender<SessionState>,
    /// Held from before events are stored until they are told.
    order: Arc<tokio::sync::Mutex<()>>,
}

/// Events that are being recorded.
pub(crate) type Recording = JoinHandle<Result<(), StoreError>>;

/// What came of events that were being recorded.
pub(crate) fn recorded(ended: Result<Result<(), StoreError>, JoinError>) -> Result<(), StoreError> {
    // Nobody aborts it, so what it can end with beside its result is a panic.
    ended.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

/// How far the client was told.
#[derive(Debug, Default)]
pub(crate) struct Notified {
    /// What it was told. Held while it is told of something.
    state: Mutex<State>,
    /// Somebody else has taken the session over.
    lost: AtomicBool,
    /// Something may have been stored that nobody was told of.
    missed: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last stored event.
    last: u64,
    /// What is not stored.
    live: Live,
}

impl Notified {
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
    /// A log whose events up to number `last` are no news to the client. What is recorded is
    /// applied to the memory and the state.
    pub(crate) fn new(
        store: Arc<dyn SessionStore>,
        lease: Lease,
        client: Arc<dyn Client>,
        last: u64,
        memory: Arc<Memory>,
        state: watch::Sender<SessionState>,
    ) -> Self {
        let told = Arc::new(Notified {
            state: Mutex::new(State { last, live: Live::default() }),
            lost: AtomicBool::new(false),
            missed: AtomicBool::new(false),
        });
        Self { store, lease, client, told, cleaner: Arc::default(), memory, state, order: Arc::default() }
    }

    /// Stores the durable ones among the events, all or none, then applies them, and then tells the
    /// client of each of them, in order. When storing fails the client is told of nothing: what it
    /// saw would not be there after a restart. Events that are recorded at the same time are
    /// stored, applied and told one recording after the other. When it fails or is given up
    /// half-way, the log is read again before the next turn.
    pub(crate) async fn record(&self, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        self.record_in_order(events, true).await
    }

    /// Like [`SessionLog::record`], but the conversation has the events at once, while they are
    /// being stored; `then` runs when they are. Nothing else may be recorded of the turn before
    /// that. When it fails, the log is read again before the next turn.
    pub(crate) fn record_ahead(
        &self,
        events: Vec<SessionEvent>,
        then: impl FnOnce() + Send + 'static,
    ) -> Recording {
        self.memory.apply(&events);
        let log = self.clone();
        tokio::spawn(async move { log.record_in_order(events, false).await.map(|()| then()) })
    }

    /// The same for events that follow others which are still being stored, and fail with them.
    pub(crate) fn record_after(&self, before: Recording, events: Vec<SessionEvent>) -> Recording {
        self.memory.apply(&events);
        let log = self.clone();
        tokio::spawn(async move {
            recorded(before.await)?;
            log.record_in_order(events, false).await
        })
    }

    async fn record_in_order(&self, events: Vec<SessionEvent>, apply: bool) -> Result<(), StoreError> {
        let _order = self.order.lock().await;
        if self.told.missed.load(Ordering::Acquire) && !self.told.is_lost() {
            self.tell_missed().await?;
        }
        let durable: Vec<_> = events.iter().filter(|event| event.is_durable()).cloned().collect();
        let stored = if durable.is_empty() { None } else { Some(self.append(durable).await?) };
        if apply {
            self.memory.apply(&events);
        }
        let mut told = self.told.lock();
        told.last = told.last.max(stored.unwrap_or_default());
        events.iter().for_each(|event| self.apply_and_notify(&mut told, event));
        Ok(())
    }

    /// Tells of what was stored without being acknowledged. The conversation is read anew before
    /// the next turn.
    async fn tell_missed(&self) -> Result<(), StoreError> {
        loop {
            let after = self.told.lock().last;
            let page = self.store.events(&self.lease.session, after, EVENTS_PAGE).await?;
            if page.is_empty() {
                self.told.missed.store(false, Ordering::Release);
                return Ok(());
            }
            let mut told = self.told.lock();
            for (number, event) in &page {
                told.last = *number;
                self.apply_and_notify(&mut told, event);
            }
        }
    }

    fn apply_and_notify(&self, told: &mut State, event: &SessionEvent) {
        self.state.send_if_modified(|state| state.apply(event));
        self.notify(told, event);
    }

    /// What the log comes to. To be asked for by turns alone: they begin when it was read.
    pub(crate) fn conversation(&self) -> Arc<Conversation> {
        self.memory.conversation().expect("the log is read before a turn begins")
    }

    /// Where the log is stored, to be read. What is written goes through [`SessionLog::record`].
    pub(crate) fn store(&self) -> &dyn SessionStore {
        self.store.as_ref()
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
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
        self.client.request_permission(display::request(request)).await
    }

    /// Stores the further folders.
    pub(crate) async fn set_directories(&self, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        self.noting_loss(self.store.set_directories(&self.lease, folders).await)
    }

    pub(crate) fn client(&self) -> &Arc<dyn Client> {
        &self.client
    }

    pub(crate) fn told(&self) -> &Arc<Notified> {
        &self.told
    }

    pub(crate) async fn release(&self) -> Result<(), StoreError> {
        self.store.release(&self.lease).await
    }

    async fn append(&self, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        let mut doubt = Doubt(Some(self));
        let stored = self.noting_loss(self.store.append(&self.lease, events).await)?;
        doubt.0 = None;
        Ok(stored)
    }

    fn noting_loss<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if matches!(result, Err(StoreError::Fenced(_) | StoreError::NotFound(_))) {
            self.told.lost.store(true, Ordering::Release);
        }
        result
    }
}

/// Whatever keeps an append from being acknowledged: the events may be stored or not.
struct Doubt<'a>(Option<&'a SessionLog>);

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if let Some(log) = self.0 {
            log.memory.doubt();
            log.told.missed.store(true, Ordering::Release);
        }
    }
}
