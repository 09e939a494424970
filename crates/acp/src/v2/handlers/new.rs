//! `session/new` and `session/fork`: create a session.

use crate::{
    connection::Reply,
    v2::{Connection, Peer, settings::config_options, to_acp::available_commands},
};
use agent_client_protocol_schema::v2 as acp;
use serde_json::Value;

/// Creates a session and responds; further updates of the session follow the response.
pub(crate) async fn new(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    let cancellation = reply.cancellation();
    match connection.create(peer, params, &cancellation).await {
        Ok(handle) => {
            let settings = connection.settings(&handle);
            let answer = acp::NewSessionResponse::new(handle.id().as_str().to_owned())
                .config_options(config_options(&settings, &connection.models()))
                .available_commands(available_commands(&handle.commands()));
            reply.send(Ok(answer));
            peer.outbox.release(handle.id());
        }
        Err(error) => reply.send(Err::<(), _>(error)),
    }
}

/// Creates a session with a copy of another session's history, which is not replayed.
pub(crate) async fn fork(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    let cancellation = reply.cancellation();
    match connection.fork(peer, params, &cancellation).await {
        Ok(handle) => {
            let settings = connection.settings(&handle);
            let answer = acp::ForkSessionResponse::new(handle.id().as_str().to_owned())
                .config_options(config_options(&settings, &connection.models()))
                .available_commands(available_commands(&handle.commands()));
            reply.send(Ok(answer));
            peer.outbox.release(handle.id());
        }
        Err(error) => reply.send(Err::<(), _>(error)),
    }
}
