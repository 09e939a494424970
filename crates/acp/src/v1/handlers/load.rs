//! `session/load`: opens a stored session and plays the whole conversation back before it answers.

use super::resume::open;
use crate::v1::{
    Connection, Outbox, Peer, errors,
    reply::Reply,
    settings::{config_options, modes},
    to_acp::Projection,
    update::Update,
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
    let (last, unstored) = connection.hold(peer, &handle);
    let held = Held { outbox: &peer.outbox, session: handle.id() };
    let cancellation = reply.cancellation();
    let played = tokio::select! {
        played = replay(connection, peer, &handle, last, unstored) => played,
        () = cancellation.cancelled() => Err(errors::request_cancelled()),
        () = connection.gone.cancelled() => Err(errors::request_cancelled()),
    };
    let answer = played.map(|()| {
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

/// Sends the stored events up to number `last`, a page at a time and no faster than the client reads, and then what is not stored; of the title
/// and the usage, the last.
async fn replay(
    connection: &Connection,
    peer: &Peer,
    handle: &SessionHandle,
    last: u64,
    unstored: Vec<Update>,
) -> Result<(), Error> {
    let mut projection = Projection::replay();
    let (mut title, mut usage) = (None, None);
    let mut after = 0;
    while after < last {
        let page =
            connection.runtime.events(handle.id(), after).await.map_err(|error| errors::store(&error))?;
        // Events at the end may be damaged, and are then left out.
        let Some((end, _)) = page.last() else { break };
        after = *end;
        for (_, event) in page.into_iter().filter(|(number, _)| *number <= last) {
            match event {
                SessionEvent::TitleChanged(_) => title = Some(event),
                SessionEvent::Usage(_) => usage = Some(event),
                event => send(peer, handle, projection.updates(&event, Vec::new)).await,
            }
        }
    }
    send(peer, handle, unstored).await;
    for event in [title, usage].into_iter().flatten() {
        send(peer, handle, projection.updates(&event, Vec::new)).await;
    }
    Ok(())
}

async fn send(peer: &Peer, handle: &SessionHandle, updates: Vec<Update>) {
    for update in updates {
        peer.outbox.send_paced(handle.id(), update.into_wire()).await;
    }
}

/// Keeps live updates back while the past is told.
struct Held<'a> {
    outbox: &'a Outbox,
    session: &'a SessionId,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.outbox.release(self.session);
    }
}
