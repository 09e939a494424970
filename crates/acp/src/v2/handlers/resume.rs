//! `session/resume`: opens a stored session, and replays its history on request.

use crate::{
    connection::{HeldUpdates, Replay, Reply, errors, params},
    v2::{
        Connection, Peer,
        settings::config_options,
        to_acp::{Projection, available_commands},
    },
};
use agent::{SessionEvent, SessionHandle};
use agent_client_protocol::Error;
use agent_client_protocol_schema::v2 as acp;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Params {
    replay_from: Option<Value>,
}

/// Replays the history, sends the state, responds, then releases the updates that occurred
/// meanwhile.
pub(crate) async fn resume(connection: &Connection, peer: &Peer, given: Value, reply: Reply) {
    let from_start = match from_start(&given) {
        Ok(from_start) => from_start,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let handle = match connection.open("session/resume", peer, given).await {
        Ok(handle) => handle,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let (last, live) = connection.hold(peer, &handle);
    let held = HeldUpdates::new(peer, &handle);
    let cancellation = reply.cancellation();
    let until = if from_start { last } else { 0 };
    let played = tokio::select! {
        biased;
        () = cancellation.cancelled() => Err(errors::request_cancelled()),
        () = connection.gone.cancelled() => Err(errors::request_cancelled()),
        played = replay(connection, peer, &handle, until, live) => played,
    };
    // After an error response, the client does not consider the session open.
    match &played {
        Ok(()) => connection.mark_open(handle.id()),
        Err(_) => connection.leave_cancelled(peer, handle.id()).await,
    }
    reply.send(played.map(|()| {
        let settings = connection.settings(&handle);
        acp::ResumeSessionResponse::new()
            .config_options(config_options(&settings, &connection.models()))
            .available_commands(available_commands(&handle.commands()))
    }));
    drop(held);
}

/// Returns whether to replay the whole history or nothing.
fn from_start(given: &Value) -> Result<bool, Error> {
    let Params { replay_from } = params("session/resume", given.clone())?;
    match replay_from {
        None | Some(Value::Null) => Ok(false),
        Some(from) if from["type"] == "start" => Ok(true),
        Some(from) => Err(errors::invalid_params(format!("replayFrom: unknown cursor {from}; use start"))),
    }
}

/// Replays the stored events up to number `until`, page by page and no faster than the client
/// reads; then the events in progress that are not stored.
///
/// Of title and usage events, only the last is sent. The state comes last.
async fn replay(
    connection: &Connection,
    peer: &Peer,
    handle: &SessionHandle,
    until: u64,
    live: Vec<SessionEvent>,
) -> Result<(), Error> {
    let mut projection = Projection::replay();
    let mut replayed = Replay::new(connection, peer, handle);
    let (mut title, mut usage) = (None, None);
    let mut pages = connection.runtime.shown_events(handle.id(), until);
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
    let mut projection = projection.catch_up();
    for event in live.into_iter().chain(title).chain(usage) {
        replayed.send(&event, projection.updates(&event, Vec::new)).await;
    }
    peer.outbox.send_paced(handle.id(), projection.state()).await;
    Ok(())
}
