//! `session/resume`: opens a stored session without playing it back.

use crate::v1::{
    Connection, Peer,
    connection::Folders,
    errors, from_acp,
    reply::Reply,
    settings::{config_options, modes},
};
use agent::{OpenSession, SessionHandle, SessionId};
use agent_client_protocol::{Error, v1::schema as acp};
use serde::Deserialize;
use serde_json::Value;

/// The parameters that load and resume share.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    session_id: String,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

/// Answers with the session's settings.
pub(crate) async fn resume(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    match open("session/resume", connection, peer, params).await {
        Ok(handle) => {
            let settings = connection.settings(&handle);
            let answer = acp::ResumeSessionResponse::new()
                .modes(modes(settings.mode))
                .config_options(config_options(&settings, &connection.models()));
            reply.send(Ok(answer));
            peer.tell_commands(handle.id());
        }
        Err(error) => reply.send(Err::<(), _>(error)),
    }
}

/// Opens the session that the parameters name.
pub(super) async fn open(
    method: &str,
    connection: &Connection,
    peer: &Peer,
    params: Value,
) -> Result<SessionHandle, Error> {
    let stored: Stored = from_acp::params(method, params.clone())?;
    let folders: Folders = from_acp::params(method, params)?;
    let (cwd, additional_directories) = connection.folders(folders, None).await?;
    let take_over = stored.meta.pointer("/tiller/takeOver") == Some(&Value::Bool(true));
    // The list is the whole one each time: none means none.
    let how = OpenSession { cwd, additional_directories: Some(additional_directories), take_over };
    connection
        .runtime
        .open(&SessionId(stored.session_id), how, |id| connection.attach(peer, id))
        .await
        .map_err(|error| errors::session(&error))
}
