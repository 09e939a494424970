//! Replays a session's history to the client: updates of the protocol, and native events if the
//! client asked for them.

use super::{Connection, Outbox, Peer, Projection as _, Update, Wire, attach::LastTurn, errors};
use crate::native;
use agent::{EventPages, ModelInfo, Models, SessionEvent, SessionHandle, SessionId, StoreError, TurnId};
use agent_client_protocol::{Error, RequestCancellation};
use std::{ops::Range, sync::Arc};

/// From where a session's stored events are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayFrom {
    /// The first stored event.
    Start,
    /// The first stored event after this number.
    After(u64),
    /// Now: no stored event is replayed.
    Now,
}

/// Holds live updates of a session during its replay; releases them when dropped.
pub(crate) struct HeldUpdates<'a, W: Wire> {
    outbox: &'a Outbox<W>,
    session: &'a SessionId,
}

impl<'a, W: Wire> HeldUpdates<'a, W> {
    /// Adopts a session whose updates are held.
    pub(crate) fn new(peer: &'a Peer<W>, handle: &'a SessionHandle) -> Self {
        Self { outbox: &peer.outbox, session: handle.id() }
    }
}

impl<W: Wire> Drop for HeldUpdates<'_, W> {
    fn drop(&mut self) {
        self.outbox.release(self.session);
    }
}

impl<W: Wire> Connection<W> {
    /// Replays a session that a request has opened: its stored events, no faster than the client
    /// reads, then the events in progress that are not stored.
    ///
    /// Returns the updates held meanwhile, which must be dropped after the response, and whether
    /// the replay is complete: the session is then marked as open. After an error it is left,
    /// unless the client has it open otherwise. The error is that of the store, or of a request
    /// that was cancelled or whose client disconnected.
    pub(crate) async fn replay<'a>(
        &self,
        peer: &'a Peer<W>,
        handle: &'a SessionHandle,
        cancellation: &RequestCancellation,
        from: ReplayFrom,
        projection: W::Projection,
    ) -> (HeldUpdates<'a, W>, Result<(), Error>) {
        let (last, in_progress) = handle.at_rest(|_| peer.outbox.hold_for_replay(handle.id()));
        let held = HeldUpdates::new(peer, handle);
        let replay = async {
            let (runtime, id) = (&self.runtime, handle.id());
            let (after, stored) = match from {
                ReplayFrom::Start => (0, runtime.shown_events(id, last)),
                ReplayFrom::After(after) => {
                    let after = after.min(last);
                    (after, runtime.shown_events_around(id, after, last).await?)
                }
                ReplayFrom::Now => (last, runtime.shown_events(id, 0)),
            };
            let mut replay = Replay::new(self, peer, handle, projection);
            // Who asked for nothing of this sees nothing new.
            let reports = matches!(from, ReplayFrom::After(_)) || peer.outbox.is_numbered(id);
            replay.turn = (reports && from != ReplayFrom::Now).then(LastTurn::default);
            replay.run(after..last, stored, in_progress).await
        };
        let played = tokio::select! {
            biased;
            () = cancellation.cancelled() => Err(errors::request_cancelled()),
            () = self.gone.cancelled() => Err(errors::request_cancelled()),
            played = replay => played.map_err(|error| errors::store(&error)),
        };
        // After an error response, the client does not consider the session open.
        match &played {
            Ok(()) => self.mark_open(handle.id()),
            Err(_) => self.leave_cancelled(peer, handle.id()).await,
        }
        (held, played)
    }
}

/// Replays a session's history, no faster than the client reads.
struct Replay<'a, W: Wire> {
    outbox: &'a Outbox<W>,
    handle: &'a SessionHandle,
    models: Arc<dyn Models>,
    projection: W::Projection,
    /// The native projection, if the client receives native events.
    native: Option<native::Projection>,
    /// The turn of the text being replayed.
    run: Option<TurnId>,
    /// The last turn, if its state is reported at the end.
    turn: Option<LastTurn>,
    /// The number that updates carry, if they carry any.
    seq: Option<u64>,
}

impl<'a, W: Wire> Replay<'a, W> {
    fn new(
        connection: &Connection<W>,
        peer: &'a Peer<W>,
        handle: &'a SessionHandle,
        projection: W::Projection,
    ) -> Self {
        Self {
            outbox: &peer.outbox,
            handle,
            models: connection.runtime.models().clone(),
            projection,
            native: connection.native.prefix().map(|_| native::Projection::default()),
            run: None,
            turn: None,
            seq: peer.outbox.is_numbered(handle.id()).then_some(0),
        }
    }

    /// Sends the stored events after number `sent.start` page by page, then those in progress. Of
    /// title and usage events, only the last is sent. Earlier events are needed to understand the
    /// later ones.
    async fn run(
        mut self,
        sent: Range<u64>,
        mut stored: EventPages,
        in_progress: Vec<SessionEvent>,
    ) -> Result<(), StoreError> {
        let (mut title, mut usage) = (None, None);
        loop {
            let page = stored.next_numbered().await?;
            if page.is_empty() {
                break;
            }
            for (number, event) in page {
                if let Some(turn) = &mut self.turn {
                    turn.note(&event);
                }
                if number <= sent.start {
                    self.observe(&event);
                    continue;
                }
                self.seq = self.seq.map(|_| number);
                match event {
                    SessionEvent::TitleChanged(_) => title = Some(event),
                    SessionEvent::Usage(_) => usage = Some(event),
                    event => self.send_event(&event).await,
                }
            }
        }
        self.seq = self.seq.map(|_| sent.end);
        self.projection.catch_up();
        if let Some(turn) = &mut self.turn {
            in_progress.iter().for_each(|event| turn.note(event));
        }
        for event in in_progress.into_iter().chain(title).chain(usage) {
            self.send_event(&event).await;
        }
        let last = self.projection.end_of_replay();
        self.send(last).await;
        if let Some(turn) = &self.turn
            && let Some(update) = W::turn_report()
        {
            self.outbox.send_report(self.handle.id(), update, turn.report(sent.end));
        }
        Ok(())
    }

    /// Takes note of an event that is not sent.
    fn observe(&mut self, event: &SessionEvent) {
        drop(self.projection.project(event, &Vec::new));
        if let Some(native) = &mut self.native {
            native.observe(event);
        }
    }

    /// Sends the updates of an event, and its native events.
    async fn send_event(&mut self, event: &SessionEvent) {
        let updates = self.projection.project(event, &Vec::new);
        let models = || -> Vec<ModelInfo> { self.models.list() };
        let updates = match &mut self.native {
            Some(native) if is_replayed(event) => native.with_updates(event, updates, &models),
            _ => updates,
        };
        self.send(updates).await;
    }

    async fn send(&mut self, updates: Vec<Update<W::Update>>) {
        for update in updates {
            self.outbox.send_replayed(self.handle.id(), &mut self.run, update, self.seq).await;
        }
    }
}

/// Returns whether an event is replayed to the native layer. The response reports the current
/// settings, so events that changed settings are skipped.
fn is_replayed(event: &SessionEvent) -> bool {
    !matches!(
        event,
        SessionEvent::ModeChanged(_)
            | SessionEvent::PermissionModeChanged(_)
            | SessionEvent::ModelChanged(_)
            | SessionEvent::EffortChanged(_)
    )
}
