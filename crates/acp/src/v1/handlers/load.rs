//! `session/load`: opens a stored session and replays its whole history before it responds.

use super::send_commands;
use crate::{
    connection::{HeldUpdates, Replay, Reply, errors},
    v1::{
        Connection, Peer,
        settings::{config_options, modes},
        to_acp::Projection,
    },
};
use agent::{SessionEvent, SessionHandle};
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Replays the history, responds, then releases the updates that occurred meanwhile.
pub(crate) async fn load(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    let handle = match connection.open("session/load", peer, params).await {
        Ok(handle) => handle,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let (last, live) = connection.hold(peer, &handle);
    let held = HeldUpdates::new(peer, &handle);
    let cancellation = reply.cancellation();
    let played = tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(errors::request_cancelled()),
        () = connection.gone.cancelled() => Err(errors::request_cancelled()),
        played = replay(connection, peer, &handle, last, live) => played,
    };
    // After an error response, the client does not consider the session open.
    match &played {
        Ok(()) => connection.mark_open(handle.id()),
        Err(_) => connection.leave_cancelled(peer, handle.id()).await,
    }
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
        send_commands(peer, &handle);
    }
}

/// Replays the stored events up to number `last`, page by page and no faster than the client reads;
/// then the events in progress that are not stored. Of title and usage events, only the last is
/// sent.
async fn replay(
    connection: &Connection,
    peer: &Peer,
    handle: &SessionHandle,
    last: u64,
    live: Vec<SessionEvent>,
) -> Result<(), Error> {
    let mut projection = Projection::replay(peer.traits.optional_updates(connection));
    let mut replayed = Replay::new(connection, peer, handle);
    let (mut title, mut usage) = (None, None);
    let mut pages = connection.runtime.shown_events(handle.id(), last);
    loop {
        let page = pages.next().await.map_err(|error| errors::store(&error))?;
        if page.is_empty() {
            break;
        }
        for event in page {
            match event {
                SessionEvent::TitleChanged(_) => title = Some(event),
                SessionEvent::Usage(_) => usage = Some(event),
                event => replayed.send(&event, projection.updates(&event, Vec::new)).await,
            }
        }
    }
    for event in live.into_iter().chain(title).chain(usage) {
        replayed.send(&event, projection.updates(&event, Vec::new)).await;
    }
    Ok(())
}
