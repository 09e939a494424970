//! Replays a session's history to the client: updates of the protocol, and native events if the
//! client asked for them.

use super::{Connection, Outbox, Peer, Update, Wire};
use crate::native;
use agent::{ModelInfo, Models, SessionEvent, SessionHandle, TurnId};
use std::sync::Arc;

/// Replays a session's history, no faster than the client reads.
pub(crate) struct Replay<'a, W: Wire> {
    outbox: &'a Outbox<W>,
    handle: &'a SessionHandle,
    models: Arc<dyn Models>,
    /// The native projection, if the client receives native events.
    native: Option<native::Projection>,
    /// The turn of the text being replayed.
    run: Option<TurnId>,
}

impl<'a, W: Wire> Replay<'a, W> {
    pub(crate) fn new(connection: &Connection<W>, peer: &'a Peer<W>, handle: &'a SessionHandle) -> Self {
        Self {
            outbox: &peer.outbox,
            handle,
            models: connection.runtime.models().clone(),
            native: connection.native.prefix().map(|_| native::Projection::default()),
            run: None,
        }
    }

    /// Sends the updates of an event, and its native events.
    pub(crate) async fn send(&mut self, event: &SessionEvent, updates: Vec<Update<W::Update>>) {
        let models = || -> Vec<ModelInfo> { self.models.list() };
        let updates = match &mut self.native {
            Some(native) if is_replayed(event) => native.with_updates(event, updates, &models),
            _ => updates,
        };
        for update in updates {
            self.outbox.send_replayed(self.handle.id(), &mut self.run, update).await;
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
