//! `session/load`: opens a stored session and plays the whole conversation back before it answers.

use super::resume::open;
use crate::v1::{
    Connection, Outbox, Peer, errors,
    reply::Reply,
    settings::{config_options, modes},
    to_acp::Projection,
};
use agent::{SessionEvent, SessionHandle, SessionId};
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Plays back, answers, then lets through what happened meanwhile.
pub(crate) async fn load(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    let handle = match open("session/load", connection, peer, params).await {
        Ok(handle) => handle,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    peer.outbox.flush(handle.id());
    let held = Held::new(&peer.outbox, handle.id());
    let answer = replay(connection, peer, &handle).await.map(|()| {
        let settings = connection.settings(&handle);
        acp::LoadSessionResponse::new()
            .modes(modes(settings.mode))
            .config_options(config_options(&settings, &connection.models()))
    });
    let loaded = answer.is_ok();
    reply.send(answer);
    drop(held);
    if loaded {
        peer.tell_commands(handle.id());
    }
}

/// Sends the stored events; of the title and the usage, the last.
async fn replay(connection: &Connection, peer: &Peer, handle: &SessionHandle) -> Result<(), Error> {
    let mut projection = Projection::replay();
    let (mut title, mut usage) = (None, None);
    let mut send = |event: &SessionEvent| {
        for update in projection.updates(event, Vec::new) {
            peer.outbox.send(handle.id(), update.into_wire());
        }
    };
    connection
        .runtime
        .replay(handle.id(), &mut |event| match event {
            SessionEvent::TitleChanged(_) => title = Some(event.clone()),
            SessionEvent::Usage(_) => usage = Some(event.clone()),
            event => send(event),
        })
        .await
        .map_err(|error| errors::store(&error))?;
    title.iter().chain(&usage).for_each(&mut send);
    Ok(())
}

/// Keeps live updates back while the past is told.
struct Held<'a> {
    outbox: &'a Outbox,
    session: &'a SessionId,
}

impl<'a> Held<'a> {
    fn new(outbox: &'a Outbox, session: &'a SessionId) -> Self {
        outbox.hold(session);
        Self { outbox, session }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.outbox.release(self.session);
    }
}
