//! The one way out for session updates: a lane per session, one pump for the connection.

use super::{
    Wire,
    coalesce::{Coalescer, Waiting},
    update::Update,
};
use crate::{
    limits::UPDATES_IN_FLIGHT,
    native::{self, Event, Frame, Prefix, Switch},
    transport::Gauge,
};
use agent::{SessionId, TurnId};
use agent_client_protocol::{Client, ConnectionTo};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{sync::Notify, time::Instant};

/// Takes updates from sessions without ever blocking them, tells them when there is [room for
/// more](Outbox::room), and hands them to the transport in order, merged where the client lags.
pub(crate) struct Outbox<W: Wire> {
    connection: ConnectionTo<Client>,
    gauge: Arc<Gauge>,
    lanes: Mutex<HashMap<SessionId, Lane<W::Update>>>,
    wake: Notify,
    /// Whether events of the native layer go along.
    native: Arc<Switch>,
}

struct Lane<U> {
    coalescer: Coalescer<U>,
    /// The turn that the last event of the native layer said.
    run: Option<TurnId>,
    /// Nothing goes out yet: the answer that makes the session known comes first.
    held: bool,
}

impl<W: Wire> Outbox<W> {
    /// An outbox of a connection; nothing waits in it until [`Outbox::pump`] runs.
    pub(crate) fn new(connection: ConnectionTo<Client>, gauge: Arc<Gauge>, native: Arc<Switch>) -> Arc<Self> {
        Arc::new(Self { connection, gauge, lanes: Mutex::default(), wake: Notify::new(), native })
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
            // What a command prints is shown as far as the client follows; its result is whole.
            if !matches!(update, Update::Display { .. }) || !self.gauge.is_backlogged() {
                self.wait(lane, update, now);
            }
        }
        self.send_due(session, lane, now);
        if lane.coalescer.is_waiting() {
            self.wake.notify_one();
        }
    }

    /// Completes when the client has room for more: of this session or of any other.
    pub(crate) async fn room(&self) {
        self.gauge.room().await;
    }

    /// Puts an update into its lane.
    fn wait(&self, lane: &mut Lane<W::Update>, update: Update<W::Update>, now: Instant) {
        let bytes = update.bytes();
        self.gauge.add(bytes);
        self.gauge.remove(lane.coalescer.push(update, bytes, now));
    }

    /// Hands everything of a session to the transport; what is sent after it follows it on the wire. A session that is held stays held.
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

    /// Keeps a session's updates back for a replay: what waits goes out first. Where they are kept back already, the replay tells what waits.
    pub(crate) fn hold_anew(&self, session: &SessionId) {
        let mut lanes = self.lanes();
        let lane = lane(&mut lanes, session);
        let waiting = lane.coalescer.flush();
        if lane.held {
            // A replay tells no events of the native layer.
            for Waiting { update, bytes } in waiting {
                self.gauge.remove(bytes);
                if matches!(update, Update::Native(_)) {
                    self.wait(lane, update, Instant::now());
                }
            }
        } else {
            waiting.into_iter().for_each(|waiting| self.send_one(session, &mut lane.run, waiting));
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
        // One that was taken back has none.
        let Some(lane) = lanes.get_mut(session) else { return };
        lane.held = false;
        self.send_due(session, lane, Instant::now());
        self.wake.notify_one();
    }

    /// Sends an update past the lane, once the client has read most of what came before: for a replay, while the lane is held.
    #[cfg(feature = "v2")]
    pub(crate) async fn send_paced(&self, session: &SessionId, update: W::Update) {
        self.gauge.below(UPDATES_IN_FLIGHT).await;
        let bytes = agent::json_bytes(&update);
        self.gauge.add(bytes);
        self.send(session, update, bytes);
    }

    /// The same, with what the native layer says of it: after a piece of text the same as an event
    /// of the turn `run`.
    pub(crate) async fn play(
        &self,
        session: &SessionId,
        run: &mut Option<TurnId>,
        update: Update<W::Update>,
    ) {
        self.gauge.below(UPDATES_IN_FLIGHT).await;
        let bytes = update.bytes();
        self.gauge.add(bytes);
        self.send_one(session, run, Waiting { update, bytes });
    }

    /// Hands over an update whose bytes wait already.
    fn send(&self, session: &SessionId, update: W::Update, bytes: usize) {
        self.gauge.count_sent(bytes);
        if let Err(error) = W::send(&self.connection, session, update) {
            tracing::debug!(%error, "the connection is gone; an update was not sent");
        }
    }

    /// Forgets a session, with what still waits for it.
    pub(crate) fn forget(&self, session: &SessionId) {
        if let Some(lane) = self.lanes().remove(session) {
            self.gauge.remove(lane.coalescer.bytes());
        }
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
        for waiting in lane.coalescer.due(now, self.gauge.in_flight()) {
            self.send_one(session, &mut lane.run, waiting);
        }
    }

    /// Sends an update, and after text the same as an event of the native layer: what merged on its way is one of each.
    fn send_one(&self, session: &SessionId, run: &mut Option<TurnId>, waiting: Waiting<W::Update>) {
        let Waiting { update, bytes } = waiting;
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
                    _ => self.gauge.remove(bytes),
                }
                return;
            }
            Update::Chunk { kind, text, .. } => prefix.map(|prefix| (prefix, native::delta(*kind, text))),
            _ => None,
        };
        match update.into_wire::<W>() {
            Some(update) => self.send(session, update, bytes),
            None => self.gauge.remove(bytes),
        }
        if let Some((prefix, event)) = delta {
            // The text once more.
            self.gauge.add(bytes);
            self.send_event(session, prefix, run.as_ref(), &event, bytes);
        }
    }

    /// Hands over an event of the native layer whose bytes wait already.
    fn send_event(
        &self,
        session: &SessionId,
        prefix: Prefix,
        run: Option<&TurnId>,
        event: &Event,
        bytes: usize,
    ) {
        self.gauge.count_sent(bytes);
        if let Err(error) = native::send(&self.connection, session, prefix, run, event) {
            tracing::debug!(%error, "the connection is gone; an event was not sent");
        }
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<SessionId, Lane<W::Update>>> {
        // A panic elsewhere leaves the queues as they were: whole updates, at worst one of them unsent.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lane<'a, U>(lanes: &'a mut HashMap<SessionId, Lane<U>>, session: &SessionId) -> &'a mut Lane<U> {
    if !lanes.contains_key(session) {
        lanes.insert(session.clone(), Lane { coalescer: Coalescer::default(), run: None, held: false });
    }
    lanes.get_mut(session).expect("inserted above")
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
