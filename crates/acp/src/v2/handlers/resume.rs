//! `session/resume`: opens a stored session, and replays its history on request.

use crate::{
    connection::{Attach, ReplayFrom, Reply, errors, params},
    v2::{
        Connection, Peer,
        settings::config_options,
        to_acp::{Projection, available_commands},
    },
};
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
    let from = match replay_from(&given) {
        Ok(from) => from,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let handle = match connection.open("session/resume", peer, given).await {
        Ok(handle) => handle,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    let cancellation = reply.cancellation();
    let (held, played) = connection.replay(peer, &handle, &cancellation, from, Projection::replay()).await;
    reply.send(played.map(|()| {
        let settings = connection.settings(&handle);
        acp::ResumeSessionResponse::new()
            .config_options(config_options(&settings, &connection.models()))
            .available_commands(available_commands(&handle.commands()))
    }));
    drop(held);
}

/// Returns from where to replay: the whole history, what follows an event, or nothing.
fn replay_from(given: &Value) -> Result<ReplayFrom, Error> {
    if let Some(after) = Attach::of(given)?.after {
        return Ok(ReplayFrom::After(after));
    }
    let Params { replay_from } = params("session/resume", given.clone())?;
    match replay_from {
        None | Some(Value::Null) => Ok(ReplayFrom::Now),
        Some(from) if from["type"] == "start" => Ok(ReplayFrom::Start),
        Some(from) => Err(errors::invalid_params(format!("replayFrom: unknown cursor {from}; use start"))),
    }
}
