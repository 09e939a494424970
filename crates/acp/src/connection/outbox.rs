//! The single output queue for session updates: a lane per session, one pump per connection.

use super::{
    Wire, attach,
    coalesce::{Coalescer, QueuedUpdate},
    update::Update,
};
use crate::{
    limits::UPDATES_IN_FLIGHT,
    native::{self, Event, EventsSwitch, Frame, Prefix},
    transport::Backpressure,
};
use agent::{SessionId, TurnId};
use agent_client_protocol::{Client, ConnectionTo};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{sync::Notify, time::Instant};

/// Queues updates from sessions without blocking them, signals when there is [room for
/// more](Outbox::room), and passes updates to the transport in order, merged where the client lags.
pub(crate) struct Outbox<W: Wire> {
    connection: ConnectionTo<Client>,
    backpressure: Arc<Backpressure>,
    lanes: Mutex<HashMap<SessionId, Lane<W::Update>>>,
    wake: Notify,
    /// Notified when a session's updates are no longer held.
    released: Notify,
    /// Whether native events are sent as well.
    native: Arc<EventsSwitch>,
    /// Whether the updates of any session carry numbers.
    numbers: AtomicBool,
}

struct Lane<U> {
    coalescer: Coalescer<U>,
    /// The turn named by the last native event.
    run: Option<TurnId>,
    /// Whether updates are held: the response that announces the session must be sent first.
    held: bool,
    /// The number of the last stored event, if its updates carry it.
    seq: Option<u64>,
}

impl<W: Wire> Outbox<W> {
    /// Creates the outbox of a connection. Delayed updates are sent only while [`Outbox::pump`]
    /// runs.
    pub(crate) fn new(
        connection: ConnectionTo<Client>,
        backpressure: Arc<Backpressure>,
        native: Arc<EventsSwitch>,
    ) -> Arc<Self> {
        Arc::new(Self {
            connection,
            backpressure,
            lanes: Mutex::default(),
            wake: Notify::new(),
            released: Notify::new(),
            native,
            numbers: AtomicBool::new(false),
        })
    }

    /// Queues updates of a session.
    pub(crate) fn push(&self, session: &SessionId, updates: Vec<Update<W::Update>>) {
        if updates.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut lanes = self.lanes();
        let lane = lane(&mut lanes, session);
        for update in updates {
            // Live output is dropped while the client lags; the command's result is always
            // complete.
            if !matches!(update, Update::Display { .. }) || !self.backpressure.is_backlogged() {
                self.queue(lane, update, now);
            }
        }
        self.send_due(session, lane, now);
        if lane.coalescer.is_waiting() {
            self.wake.notify_one();
        }
    }

    /// Completes when the client has room for more updates, of this session or any other.
    pub(crate) async fn room(&self) {
        self.backpressure.room().await;
    }

    /// Queues an update in its lane.
    fn queue(&self, lane: &mut Lane<W::Update>, update: Update<W::Update>, now: Instant) {
        let bytes = update.bytes();
        self.backpressure.add(bytes);
        self.backpressure.remove(lane.coalescer.push(update, bytes, lane.seq, now));
    }

    /// Passes all queued updates of a session to the transport, so that anything sent later follows
    /// them on the wire. Has no effect on a held session.
    pub(crate) fn flush(&self, session: &SessionId) {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get_mut(session)
            && !lane.held
        {
            for waiting in lane.coalescer.flush() {
                self.send_one(session, &mut lane.run, waiting);
            }
        }
    }

    /// Holds a session's updates for a replay, after sending those that are queued.
    ///
    /// If the session is held already, queued updates of the protocol are dropped, because the
    /// replay includes their content.
    pub(crate) fn hold_for_replay(&self, session: &SessionId) {
        let mut lanes = self.lanes();
        let lane = lane(&mut lanes, session);
        let waiting = lane.coalescer.flush();
        if lane.held {
            // A replay sends no queued native events, so keep them.
            for QueuedUpdate { update, bytes, .. } in waiting {
                self.backpressure.remove(bytes);
                if matches!(update, Update::Native(_)) {
                    self.queue(lane, update, Instant::now());
                }
            }
        } else {
            waiting.into_iter().for_each(|waiting| self.send_one(session, &mut lane.run, waiting));
        }
        lane.held = true;
    }

    /// Holds a session's updates until [`Outbox::release`].
    pub(crate) fn hold(&self, session: &SessionId) {
        lane(&mut self.lanes(), session).held = true;
    }

    /// Releases a session's held updates.
    pub(crate) fn release(&self, session: &SessionId) {
        let mut lanes = self.lanes();
        // A session whose request was cancelled has no lane.
        let Some(lane) = lanes.get_mut(session) else { return };
        lane.held = false;
        self.send_due(session, lane, Instant::now());
        self.wake.notify_one();
        self.released.notify_waiters();
    }

    /// Waits until a session's updates are not held: the client then knows the session and all that
    /// happened in it, and can be asked about it.
    pub(crate) async fn until_released(&self, session: &SessionId) {
        loop {
            let mut released = std::pin::pin!(self.released.notified());
            released.as_mut().enable();
            if !self.lanes().get(session).is_some_and(|lane| lane.held) {
                return;
            }
            released.await;
        }
    }

    /// Makes the updates of a session carry the number of the last stored event, which is `last`.
    pub(crate) fn number(&self, session: &SessionId, last: u64) {
        self.numbers.store(true, Ordering::Relaxed);
        lane(&mut self.lanes(), session).seq = Some(last);
    }

    /// Takes note of the number of the last stored event of a session.
    pub(crate) fn stored(&self, session: &SessionId, number: u64) {
        if self.numbers.load(Ordering::Relaxed)
            && let Some(seq) = self.lanes().get_mut(session).and_then(|lane| lane.seq.as_mut())
        {
            *seq = number;
        }
    }

    /// Returns whether the updates of a session carry numbers.
    pub(crate) fn is_numbered(&self, session: &SessionId) -> bool {
        self.lanes().get(session).is_some_and(|lane| lane.seq.is_some())
    }

    /// Sends an update that reports the state of a session, after a replay.
    pub(crate) fn send_report(&self, session: &SessionId, update: W::Update, meta: Map<String, Value>) {
        self.send(session, update, 0, Some(meta));
    }

    /// Sends an update directly, bypassing the held lane, once the client has read most of the
    /// previous ones. Text is sent again as a native event of the turn `run`. For replays.
    pub(crate) async fn send_replayed(
        &self,
        session: &SessionId,
        run: &mut Option<TurnId>,
        update: Update<W::Update>,
        seq: Option<u64>,
    ) {
        self.backpressure.below(UPDATES_IN_FLIGHT).await;
        let bytes = update.bytes();
        self.backpressure.add(bytes);
        self.send_one(session, run, QueuedUpdate { update, bytes, seq });
    }

    /// Passes an update to the transport; its bytes are already counted.
    fn send(&self, session: &SessionId, update: W::Update, bytes: usize, meta: Option<Map<String, Value>>) {
        self.backpressure.count_sent(bytes);
        if let Err(error) = W::send(&self.connection, session, update, meta) {
            tracing::debug!(%error, "the connection is closed; an update was not sent");
        }
    }

    /// Drops a session and its queued updates.
    pub(crate) fn forget(&self, session: &SessionId) {
        if let Some(lane) = self.lanes().remove(session) {
            self.backpressure.remove(lane.coalescer.bytes());
        }
        self.released.notify_waiters();
    }

    /// Sends updates as they become due by time or by the writer's progress. Never completes.
    pub(crate) async fn pump(&self) {
        let mut progress = self.backpressure.progress();
        loop {
            let (waiting, deadline) = self.next();
            let full = self.backpressure.in_flight() >= UPDATES_IN_FLIGHT;
            tokio::select! {
                () = sleep_until(deadline), if !full && deadline.is_some() => {}
                _ = progress.changed(), if waiting => {}
                () = self.wake.notified() => {}
            }
            let now = Instant::now();
            for (session, lane) in self.lanes().iter_mut() {
                self.send_due(session, lane, now);
            }
        }
    }

    /// Returns whether anything is queued in a lane that is not held, and when the first of it is
    /// due.
    fn next(&self) -> (bool, Option<Instant>) {
        let lanes = self.lanes();
        let open = || lanes.values().filter(|lane| !lane.held && lane.coalescer.is_waiting());
        (open().next().is_some(), open().filter_map(|lane| lane.coalescer.deadline()).min())
    }

    fn send_due(&self, session: &SessionId, lane: &mut Lane<W::Update>, now: Instant) {
        if lane.held {
            return;
        }
        for waiting in lane.coalescer.due(now, self.backpressure.in_flight()) {
            self.send_one(session, &mut lane.run, waiting);
        }
    }

    /// Sends an update. Text is sent again as a native event, so that text that was merged in the
    /// queue is one message in each.
    fn send_one(&self, session: &SessionId, run: &mut Option<TurnId>, waiting: QueuedUpdate<W::Update>) {
        let QueuedUpdate { update, bytes, seq } = waiting;
        let prefix = self.native.prefix();
        let delta = match &update {
            Update::Native(frame) | Update::State(_, frame) => {
                let Frame { run: of, event } = frame.as_ref();
                if !matches!(update, Update::State(..)) {
                    run.clone_from(of);
                }
                match (prefix, event) {
                    (Some(prefix), Some(event)) => {
                        self.send_event(session, prefix, of.as_ref(), event, bytes);
                    }
                    _ => self.backpressure.remove(bytes),
                }
                return;
            }
            Update::Chunk { kind, text, .. } => prefix.map(|prefix| (prefix, native::delta(*kind, text))),
            _ => None,
        };
        match W::update(update) {
            Some(update) => self.send(session, update, bytes, seq.map(attach::number)),
            None => self.backpressure.remove(bytes),
        }
        if let Some((prefix, event)) = delta {
            // The same text, sent a second time.
            self.backpressure.add(bytes);
            self.send_event(session, prefix, run.as_ref(), &event, bytes);
        }
    }

    /// Passes a native event to the transport; its bytes are already counted.
    fn send_event(
        &self,
        session: &SessionId,
        prefix: Prefix,
        run: Option<&TurnId>,
        event: &Event,
        bytes: usize,
    ) {
        self.backpressure.count_sent(bytes);
        if let Err(error) = native::send(&self.connection, session, prefix, run, event) {
            tracing::debug!(%error, "the connection is closed; an event was not sent");
        }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<SessionId, Lane<W::Update>>> {
        // A panic elsewhere leaves the queues consistent: whole updates, at worst one of them
        // unsent.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lane<'a, U>(lanes: &'a mut HashMap<SessionId, Lane<U>>, session: &SessionId) -> &'a mut Lane<U> {
    if !lanes.contains_key(session) {
        lanes.insert(
            session.clone(),
            Lane { coalescer: Coalescer::default(), run: None, held: false, seq: None },
        );
    }
    lanes.get_mut(session).expect("inserted above")
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
