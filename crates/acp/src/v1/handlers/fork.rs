//! `session/fork`: creates a session with a copy of another session's history.

use super::send_commands;
use crate::{
    connection::Reply,
    v1::{
        Connection, Peer,
        settings::{config_options, modes},
    },
};
use agent_client_protocol::v1::schema as acp;
use serde_json::Value;

/// Creates the session and responds; the history is not replayed.
pub(crate) async fn fork(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    let cancellation = reply.cancellation();
    match connection.fork(peer, params, &cancellation).await {
        Ok(handle) => {
            let settings = connection.settings(&handle);
            let answer = acp::ForkSessionResponse::new(handle.id().as_str().to_owned())
                .modes(modes(settings.mode))
                .config_options(config_options(&settings, &connection.models()));
            reply.send(Ok(answer));
            peer.outbox.release(handle.id());
            send_commands(peer, &handle);
        }
        Err(error) => reply.send(Err::<(), _>(error)),
    }
}
