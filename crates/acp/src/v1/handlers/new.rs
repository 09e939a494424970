//! `session/new`: creates a session.

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

/// Creates the session and responds; further updates of the session follow the response.
pub(crate) async fn new(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    let cancellation = reply.cancellation();
    match connection.create(peer, params, &cancellation).await {
        Ok(handle) => {
            let settings = connection.settings(&handle);
            let answer = acp::NewSessionResponse::new(handle.id().as_str().to_owned())
                .modes(modes(settings.mode))
                .config_options(config_options(&settings, &connection.models()));
            reply.send(Ok(answer));
            peer.outbox.release(handle.id());
            send_commands(peer, &handle);
        }
        Err(error) => reply.send(Err::<(), _>(error)),
    }
}
