//! `session/resume`: opens a stored session without replaying its history.

use super::send_commands;
use crate::{
    connection::{HeldUpdates, Reply, errors},
    v1::{
        Connection, Peer,
        settings::{config_options, modes},
    },
};
use agent_client_protocol::v1::schema as acp;
use serde_json::Value;

/// Opens the session and responds with its settings.
pub(crate) async fn resume(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    match connection.open("session/resume", peer, params).await {
        Ok(handle) if reply.cancellation().is_cancelled() => {
            connection.leave_cancelled(peer, handle.id()).await;
            peer.outbox.release(handle.id());
            reply.send(Err::<(), _>(errors::request_cancelled()));
        }
        Ok(handle) => {
            connection.mark_open(handle.id());
            let held = HeldUpdates::new(peer, &handle);
            let settings = connection.settings(&handle);
            let answer = acp::ResumeSessionResponse::new()
                .modes(modes(settings.mode))
                .config_options(config_options(&settings, &connection.models()));
            reply.send(Ok(answer));
            drop(held);
            send_commands(peer, &handle);
        }
        Err(error) => reply.send(Err::<(), _>(error)),
    }
}
