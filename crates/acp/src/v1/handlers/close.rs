//! `session/close`: cancels what runs and frees the session.

use crate::v1::{Connection, from_acp};
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Answers once everything has settled.
pub(crate) async fn close(
    connection: &Connection,
    params: Value,
) -> Result<acp::CloseSessionResponse, Error> {
    let request: acp::CloseSessionRequest = from_acp::params("session/close", params)?;
    let handle = connection.session(&request.session_id)?;
    handle.close().await;
    if let Ok(peer) = connection.peer() {
        peer.outbox.flush(handle.id());
    }
    connection.forget(handle.id());
    Ok(acp::CloseSessionResponse::new())
}
