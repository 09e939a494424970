//! `session/resume`: opens a stored session without replaying its history, or with what follows the
//! events that the client has.

use super::send_commands;
use crate::{
    connection::{Attach, HeldUpdates, ReplayFrom, Reply, errors},
    v1::{
        Connection, Peer,
        settings::{config_options, modes},
        to_acp::Projection,
    },
};
use agent::SessionHandle;
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Opens the session and responds with its settings.
pub(crate) async fn resume(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    let opened = async {
        let after = Attach::of(&params)?.after;
        Ok::<_, Error>((after, connection.open("session/resume", peer, params).await?))
    };
    let (after, handle) = match opened.await {
        Ok(opened) => opened,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let cancellation = reply.cancellation();
    let (held, resumed) = match after {
        Some(after) => {
            let projection = Projection::replay(peer.traits.optional_updates(connection));
            connection.replay(peer, &handle, &cancellation, ReplayFrom::After(after), projection).await
        }
        None if cancellation.is_cancelled() => {
            connection.leave_cancelled(peer, handle.id()).await;
            (HeldUpdates::new(peer, &handle), Err(errors::request_cancelled()))
        }
        None => {
            connection.mark_open(handle.id());
            (HeldUpdates::new(peer, &handle), Ok(()))
        }
    };
    let answer = resumed.map(|()| answer(connection, &handle));
    let is_open = answer.is_ok();
    reply.send(answer);
    drop(held);
    if is_open {
        send_commands(peer, &handle);
    }
}

fn answer(connection: &Connection, handle: &SessionHandle) -> acp::ResumeSessionResponse {
    let settings = connection.settings(handle);
    acp::ResumeSessionResponse::new()
        .modes(modes(settings.mode))
        .config_options(config_options(&settings, &connection.models()))
}
