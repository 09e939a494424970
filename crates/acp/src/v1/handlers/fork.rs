//! `session/fork`: a new session that begins with everything another has.

use crate::v1::{
    Connection, Peer,
    connection::Folders,
    errors, from_acp,
    reply::Reply,
    settings::{config_options, modes},
};
use agent::{CreateSession, SessionHandle, SessionId};
use agent_client_protocol::{Error, v1::schema as acp};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Origin {
    session_id: String,
}

/// Answers first; nothing is played back.
pub(crate) async fn fork(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    match make(connection, peer, params).await {
        Ok(handle) => {
            let settings = connection.settings(&handle);
            let answer = acp::ForkSessionResponse::new(handle.id().as_str().to_owned())
                .modes(modes(settings.mode))
                .config_options(config_options(&settings, &connection.models()));
            reply.send(Ok(answer));
            peer.outbox.release(handle.id());
            peer.tell_commands(handle.id());
        }
        Err(error) => reply.send(Err::<(), _>(error)),
    }
}

async fn make(connection: &Connection, peer: &Peer, params: Value) -> Result<SessionHandle, Error> {
    let origin: Origin = from_acp::params("session/fork", params.clone())?;
    let folders: Folders = from_acp::params("session/fork", params)?;
    let origin = SessionId(origin.session_id);
    let record = connection.runtime.record(&origin).await.map_err(|error| errors::store(&error))?;
    let (cwd, additional_directories) = connection.folders(folders, Some(&record.cwd)).await?;
    let new = CreateSession { cwd: cwd.unwrap_or(record.cwd), additional_directories };
    connection
        .runtime
        .fork(&origin, new, |id| {
            peer.outbox.hold(id);
            connection.attach(peer, id)
        })
        .await
        .map_err(|error| errors::session(&error))
}
