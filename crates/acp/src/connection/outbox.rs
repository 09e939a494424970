//! The one way out for session updates: a lane per session, one pump for the connection.

use super::{Wire, coalesce::Coalescer, update::Update};
use crate::{limits::UPDATES_IN_FLIGHT, transport::Gauge};
use agent::SessionId;
use agent_client_protocol::{Client, ConnectionTo};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Notify, time::Instant};

/// Takes updates from sessions without ever blocking them, and hands them to the transport in order, merged where the client lags.
pub(crate) struct Outbox<W: Wire> {
    connection: ConnectionTo<Client>,
    gauge: Arc<Gauge>,
    lanes: Mutex<HashMap<SessionId, Lane<W::Update>>>,
    wake: Notify,
}

struct Lane<U> {
    coalescer: Coalescer<U>,
    /// Nothing goes out yet: the answer that makes the session known comes first.
    held: bool,
}

impl<W: Wire> Outbox<W> {
    /// An outbox of a connection; nothing waits in it until [`Outbox::pump`] runs.
    pub(crate) fn new(connection: ConnectionTo<Client>, gauge: Arc<Gauge>) -> Arc<Self> {
        Arc::new(Self { connection, gauge, lanes: Mutex::default(), wake: Notify::new() })
    }

    /// Takes updates of a session.
    pub(crate) fn push(&self, session: &SessionId, updates: Vec<Update<W::Update>>) {
        if updates.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut lanes = self.lanes();
        let lane = lane(&mut lanes, session);
        for update in updates {
            lane.coalescer.push(update, now);
        }
        self.send_due(session, lane, now);
        if lane.coalescer.is_waiting() {
            self.wake.notify_one();
        }
    }

    /// Hands everything of a session to the transport; what is sent after it follows it on the wire. A session that is held stays held.
    pub(crate) fn flush(&self, session: &SessionId) {
        let mut lanes = self.lanes();
        if let Some(lane) = lanes.get_mut(session)
            && !lane.held
        {
            for update in lane.coalescer.flush() {
                self.send(session, update.into_wire::<W>());
            }
        }
    }

    /// Keeps a session's updates back for a replay: what waits goes out first. Where they are kept back already, the replay tells what waits.
    pub(crate) fn hold_anew(&self, session: &SessionId) {
        let mut lanes = self.lanes();
        let lane = lane(&mut lanes, session);
        match lane.held {
            true => lane.coalescer = Coalescer::default(),
            false => lane
                .coalescer
                .flush()
                .into_iter()
                .for_each(|update| self.send(session, update.into_wire::<W>())),
        }
        lane.held = true;
    }

    /// Keeps a session's updates back until [`Outbox::release`].
    pub(crate) fn hold(&self, session: &SessionId) {
        lane(&mut self.lanes(), session).held = true;
    }

    /// Lets a session's updates go out.
    pub(crate) fn release(&self, session: &SessionId) {
        let mut lanes = self.lanes();
        let lane = lane(&mut lanes, session);
        lane.held = false;
        self.send_due(session, lane, Instant::now());
        self.wake.notify_one();
    }

    /// Sends an update past the lane, once the client has read most of what came before: for a replay, while the lane is held.
    pub(crate) async fn send_paced(&self, session: &SessionId, update: W::Update) {
        self.gauge.below(UPDATES_IN_FLIGHT).await;
        self.send(session, update);
    }

    fn send(&self, session: &SessionId, update: W::Update) {
        self.gauge.count_sent();
        if let Err(error) = W::send(&self.connection, session, update) {
            tracing::debug!(%error, "the connection is gone; an update was not sent");
        }
    }

    /// Forgets a session, with what still waits for it.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.lanes().remove(session);
    }

    /// Sends what becomes due by time or by the writer's progress; never ends by itself.
    pub(crate) async fn pump(&self) {
        let mut progress = self.gauge.progress();
        loop {
            let (waiting, deadline) = self.next();
            let full = self.gauge.in_flight() >= UPDATES_IN_FLIGHT;
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

    /// Whether anything waits, and when the first of it is due.
    fn next(&self) -> (bool, Option<Instant>) {
        let lanes = self.lanes();
        let open = || lanes.values().filter(|lane| !lane.held && lane.coalescer.is_waiting());
        (open().next().is_some(), open().filter_map(|lane| lane.coalescer.deadline()).min())
    }

    fn send_due(&self, session: &SessionId, lane: &mut Lane<W::Update>, now: Instant) {
        if lane.held {
            return;
        }
        for update in lane.coalescer.due(now, self.gauge.in_flight()) {
            self.send(session, update.into_wire::<W>());
        }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<SessionId, Lane<W::Update>>> {
        // A panic elsewhere leaves the queues as they were: whole updates, at worst one of them unsent.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lane<'a, U>(lanes: &'a mut HashMap<SessionId, Lane<U>>, session: &SessionId) -> &'a mut Lane<U> {
    if !lanes.contains_key(session) {
        lanes.insert(session.clone(), Lane { coalescer: Coalescer::default(), held: false });
    }
    lanes.get_mut(session).expect("inserted above")
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
