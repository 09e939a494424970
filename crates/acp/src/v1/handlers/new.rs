//! `session/new`: makes a session.

use crate::v1::{
    Connection, Peer,
    connection::Folders,
    errors, from_acp,
    reply::Reply,
    settings::{config_options, modes},
};
use agent::{CreateSession, SessionHandle};
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Answers first; what else there is to say of the session follows the answer.
pub(crate) async fn new(connection: &Connection, peer: &Peer, params: Value, reply: Reply) {
    match create(connection, peer, params).await {
        Ok(handle) => {
            let settings = connection.settings(&handle);
            let answer = acp::NewSessionResponse::new(handle.id().as_str().to_owned())
                .modes(modes(settings.mode))
                .config_options(config_options(&settings, &connection.models()));
            reply.send(Ok(answer));
            peer.outbox.release(handle.id());
            peer.tell_commands(handle.id());
        }
        Err(error) => reply.send(Err::<(), _>(error)),
    }
}

async fn create(connection: &Connection, peer: &Peer, params: Value) -> Result<SessionHandle, Error> {
    let folders: Folders = from_acp::params("session/new", params)?;
    let default = connection.options.default_cwd.clone();
    let (cwd, additional_directories) = connection.folders(folders, Some(&default)).await?;
    connection.may_use(&connection.runtime.default_model().await)?;
    let new = CreateSession { cwd: cwd.unwrap_or(default), additional_directories };
    connection
        .runtime
        .create(new, |id| {
            // Some clients hang on an update of a session that they have not been told of.
            peer.outbox.hold(id);
            connection.attach(peer, id)
        })
        .await
        .map_err(|error| errors::session(&error))
}
