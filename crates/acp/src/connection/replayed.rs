//! A session's past on its way to the client: updates of the protocol, and, where the client asked
//! for them, events of the native layer.

use super::{Connection, Outbox, Peer, Update, Wire};
use crate::native;
use agent::{ModelInfo, Models, SessionEvent, SessionHandle, TurnId};
use std::sync::Arc;

/// Plays a session's past back, no faster than the client reads.
pub(crate) struct Replayed<'a, W: Wire> {
    outbox: &'a Outbox<W>,
    handle: &'a SessionHandle,
    models: Arc<dyn Models>,
    /// Where the client is told of events of the native layer.
    native: Option<native::Projection>,
    /// The turn that the text belongs to which is being played back.
    run: Option<TurnId>,
}

impl<'a, W: Wire> Replayed<'a, W> {
    pub(crate) fn new(connection: &Connection<W>, peer: &'a Peer<W>, handle: &'a SessionHandle) -> Self {
        Self {
            outbox: &peer.outbox,
            handle,
            models: connection.runtime.models().clone(),
            native: connection.native.prefix().map(|_| native::Projection::default()),
            run: None,
        }
    }

    /// Sends what an event is in the client's version of the protocol, and in the native layer.
    pub(crate) async fn send(&mut self, event: &SessionEvent, updates: Vec<Update<W::Update>>) {
        let models = || -> Vec<ModelInfo> { self.models.list() };
        let updates = match &mut self.native {
            Some(native) if is_told(event) => native.along(event, updates, &models),
            _ => updates,
        };
        for update in updates {
            self.outbox.play(self.handle.id(), &mut self.run, update).await;
        }
    }
}

/// What a session is set to is told as it is now, by the answer, and not how it came to that.
fn is_told(event: &SessionEvent) -> bool {
    !matches!(
        event,
        SessionEvent::ModeChanged(_)
            | SessionEvent::PermissionModeChanged(_)
            | SessionEvent::ModelChanged(_)
            | SessionEvent::EffortChanged(_)
    )
}
