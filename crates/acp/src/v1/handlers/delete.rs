//! `session/delete`: removes a session for good.

use crate::v1::{Connection, errors, from_acp};
use agent::SessionId;
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Answers once what ran has settled and nothing is left; a session that is not there is fine.
pub(crate) async fn delete(
    connection: &Connection,
    params: Value,
) -> Result<acp::DeleteSessionResponse, Error> {
    let request: acp::DeleteSessionRequest = from_acp::params("session/delete", params)?;
    let id = SessionId(request.session_id.0.to_string());
    connection.runtime.delete(&id).await.map_err(|error| errors::store(&error))?;
    connection.forget(&id);
    Ok(acp::DeleteSessionResponse::new())
}
