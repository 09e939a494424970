//! `session/load`: opens a stored session and replays its history before it responds: all of it, or
//! what follows the events that the client has.

use super::send_commands;
use crate::{
    connection::{Attach, ReplayFrom, Reply},
    v1::{
        Connection, Peer,
        settings::{config_options, modes},
        to_acp::Projection,
    },
};
use agent_client_protocol::v1::schema as acp;
use serde_json::Value;

/// Replays the history, responds, then releases the updates that occurred meanwhile.
pub(crate) async fn load(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    let from = match Attach::of(&params) {
        Ok(attach) => attach.after.map_or(ReplayFrom::Start, ReplayFrom::After),
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let handle = match connection.open("session/load", peer, params).await {
        Ok(handle) => handle,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let projection = Projection::replay(peer.traits.optional_updates(connection));
    let cancellation = reply.cancellation();
    let (held, played) = connection.replay(peer, &handle, &cancellation, from, projection).await;
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
