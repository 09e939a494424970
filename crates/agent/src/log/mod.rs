//! The path of a session's events to its store and its client: durable events are stored first,
//! then applied, then sent to the client.

pub(crate) mod leased;
pub(crate) mod live;
pub(crate) mod state;

use crate::{
    Client, FolderFacts, PermissionOutcome, PermissionRequest, SessionEvent, SessionState, SessionStore,
    StoreError, Surface,
    client::display::{self, Cleaner},
    client::watchers::Watchers,
    history::conversation::Conversation,
    history::memory::Memory,
    limits::EVENTS_PAGE,
    log::{leased::LeasedLog, live::Live},
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

/// Records events and sends them to the client.
///
/// Architecture Invariant: a session's own state changes only through the events that are recorded
/// here.
#[derive(Clone)]
pub(crate) struct SessionLog {
    stored: LeasedLog,
    client: Arc<dyn Client>,
    notified: Arc<Notified>,
    cleaner: Arc<Cleaner>,
    memory: Arc<Memory>,
    state: watch::Sender<SessionState>,
    /// Locked from before events are stored until the client was notified of them.
    order: Arc<tokio::sync::Mutex<()>>,
}

/// A task that is recording events.
pub(crate) type Recording = JoinHandle<Result<(), StoreError>>;

/// Returns the result of a recording; resumes its panic if it panicked.
pub(crate) fn recorded(ended: Result<Result<(), StoreError>, JoinError>) -> Result<(), StoreError> {
    // The task is never aborted, so a join error is a panic.
    ended.unwrap_or_else(|error| resume_unwind(error.into_panic()))
}

/// What the client was notified of.
#[derive(Debug, Default)]
pub(crate) struct Notified {
    /// The last notification. Locked while the client is notified.
    state: Mutex<State>,
    /// Another process has taken the session over.
    lost: AtomicBool,
    /// Events may have been stored without a notification.
    missed: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// The number of the last stored event that the client was notified of.
    last: u64,
    /// The state that is not stored.
    live: Live,
}

impl Notified {
    /// Runs `then` with the number of the last stored event that was sent, while no event is sent.
    /// Returns that number, and the live events that were sent and are not stored.
    pub(crate) fn at_rest(&self, then: impl FnOnce(u64)) -> (u64, Vec<SessionEvent>) {
        let state = self.lock();
        then(state.last);
        (state.last, state.live.events())
    }

    /// Adds a client that is notified from here on; returns false if the session is over.
    pub(crate) fn join(&self, watchers: &Watchers, surface: Surface) -> bool {
        let state = self.lock();
        surface.client.stored(state.last);
        surface.client.catch_up(&state.live.events());
        watchers.join(surface)
    }

    /// Returns whether another process has taken the session over.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // If a client panicked, the event still counts as sent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionLog {
    /// Creates a log. The client knows the events up to number `last`. Recorded events are applied
    /// to the memory and the state.
    pub(crate) fn new(
        stored: LeasedLog,
        client: Arc<dyn Client>,
        last: u64,
        memory: Arc<Memory>,
        state: watch::Sender<SessionState>,
    ) -> Self {
        client.stored(last);
        let notified = Arc::new(Notified {
            state: Mutex::new(State { last, live: Live::default() }),
            lost: AtomicBool::new(false),
            missed: AtomicBool::new(false),
        });
        Self { stored, client, notified, cleaner: Arc::default(), memory, state, order: Arc::default() }
    }

    /// Stores the durable events, all or none, then applies all events, and then sends each of them
    /// to the client, in order.
    ///
    /// If storing fails, the client receives none of them: it would show something that is gone
    /// after a restart. Concurrent recordings are stored, applied and sent one after the other. If
    /// it fails or is dropped half-way, the log is read again before the next turn.
    pub(crate) async fn record(&self, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        self.record_in_order(events, true).await
    }

    /// Like [`SessionLog::record`], but applies the events to the conversation immediately, while
    /// they are being stored; `then` runs when they are stored. Until then nothing else of the turn
    /// may be recorded. If it fails, the log is read again before the next turn.
    pub(crate) fn record_ahead(
        &self,
        events: Vec<SessionEvent>,
        then: impl FnOnce() + Send + 'static,
    ) -> Recording {
        self.memory.apply(&events);
        let log = self.clone();
        tokio::spawn(async move { log.record_in_order(events, false).await.map(|()| then()) })
    }

    /// Like [`SessionLog::record_ahead`], for events that follow others which are still being
    /// stored, and that fail with them.
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
        if self.notified.missed.load(Ordering::Acquire) && !self.notified.is_lost() {
            self.send_missed().await?;
        }
        let durable: Vec<_> = events.iter().filter(|event| event.is_durable()).cloned().collect();
        let count = durable.len() as u64;
        let stored = if durable.is_empty() { None } else { Some(self.append(durable).await?) };
        if apply {
            self.memory.apply(&events);
        }
        let mut sent = self.notified.lock();
        // The events of one append have consecutive numbers.
        let mut number = stored.map_or(sent.last, |last| last.saturating_sub(count));
        for event in &events {
            if event.is_durable() {
                number += 1;
                self.number(&mut sent, number);
            }
            self.apply_and_send(&mut sent, event);
        }
        Ok(())
    }

    /// Sends events that were stored without being acknowledged. The conversation is read again
    /// before the next turn.
    async fn send_missed(&self) -> Result<(), StoreError> {
        loop {
            let after = self.notified.lock().last;
            let page = self.store().events(self.stored.session(), after, EVENTS_PAGE).await?;
            if page.is_empty() {
                self.notified.missed.store(false, Ordering::Release);
                return Ok(());
            }
            let mut sent = self.notified.lock();
            for (number, event) in &page {
                self.number(&mut sent, *number);
                self.apply_and_send(&mut sent, event);
            }
        }
    }

    /// Notes the number of the stored event that is sent next.
    fn number(&self, sent: &mut State, number: u64) {
        sent.last = sent.last.max(number);
        self.client.stored(sent.last);
    }

    fn apply_and_send(&self, sent: &mut State, event: &SessionEvent) {
        self.state.send_if_modified(|state| state.apply(event));
        self.send(sent, event);
    }

    /// Refuses once another process may have taken the session's lease.
    ///
    /// # Errors
    /// [`StoreError::Unconfirmed`]
    pub(crate) fn confirm_lease(&self) -> Result<(), StoreError> {
        self.stored.confirm()
    }

    /// Returns the error of what was stopped because another process may have taken the lease.
    pub(crate) fn unconfirmed_error(&self) -> StoreError {
        StoreError::Unconfirmed(self.stored.session().clone())
    }

    /// Completes once another process may have taken the session's lease.
    pub(crate) async fn lease_unconfirmed(&self) {
        self.stored.unconfirmed().await;
    }

    /// Returns the conversation of the log. For turns only: the log is read before they begin.
    ///
    /// # Panics
    /// If the log was not read.
    pub(crate) fn conversation(&self) -> Arc<Conversation> {
        self.memory.conversation().expect("the log is read before a turn begins")
    }

    /// Returns the store, for reading. Writes go through [`SessionLog::record`].
    pub(crate) fn store(&self) -> &dyn SessionStore {
        self.stored.store()
    }

    /// Returns the store for readers that outlive the session's log.
    pub(crate) fn shared_store(&self) -> Arc<dyn SessionStore> {
        self.stored.shared_store()
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Sends the client an event that is not stored.
    pub(crate) fn notify(&self, event: SessionEvent) {
        debug_assert!(!event.is_durable(), "a durable event must be recorded: {event:?}");
        self.send(&mut self.notified.lock(), &event);
    }

    /// Returns a call that runs, as it was last shown.
    pub(crate) fn running_call(&self, id: &crate::ToolCallId) -> Option<crate::ToolCallUpdate> {
        self.notified.lock().live.running(id)
    }

    fn send(&self, state: &mut State, event: &SessionEvent) {
        let shown = self.cleaner.event(event.clone());
        state.live.note(&shown);
        let written = self.cleaner.written(event, &shown);
        self.client.notify_written(written.as_ref().unwrap_or(&shown), &shown);
    }

    /// Sends a permission request to the client, sanitised for display as events are.
    pub(crate) async fn ask(&self, request: PermissionRequest) -> PermissionOutcome {
        self.client.request_permission(display::request(request)).await
    }

    /// Stores the additional directories.
    pub(crate) async fn set_directories(&self, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        self.noting_loss(self.stored.set_directories(folders).await)
    }

    /// Stores what is known of the session's directory, and sends the client what git has checked
    /// out, if that changed.
    pub(crate) async fn set_folder(&self, facts: FolderFacts) -> Result<(), StoreError> {
        if facts.branch != self.branch() {
            self.record(vec![SessionEvent::BranchChanged(facts.branch.clone())]).await?;
        }
        self.noting_loss(self.stored.set_folder(facts).await)
    }

    /// Returns what git has checked out, as far as the client knows.
    pub(crate) fn branch(&self) -> Option<String> {
        self.state.borrow().branch.clone()
    }

    pub(crate) fn client(&self) -> &Arc<dyn Client> {
        &self.client
    }

    pub(crate) fn notified(&self) -> &Arc<Notified> {
        &self.notified
    }

    pub(crate) async fn release(&self) -> Result<(), StoreError> {
        self.stored.release().await
    }

    async fn append(&self, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        let mut doubt = Doubt(Some(self));
        let stored = self.noting_loss(self.stored.append(events).await)?;
        doubt.0 = None;
        Ok(stored)
    }

    fn noting_loss<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if matches!(result, Err(StoreError::Fenced(_) | StoreError::NotFound(_))) {
            let known = self.notified.lost.swap(true, Ordering::AcqRel);
            if !known {
                metrics::counter!("tiller_leases_lost_total").increment(1);
            }
        }
        result
    }
}

/// Marks events as possibly stored when dropped, unless the append was acknowledged.
struct Doubt<'a>(Option<&'a SessionLog>);

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if let Some(log) = self.0 {
            log.memory.doubt();
            log.notified.missed.store(true, Ordering::Release);
        }
    }
}
