//! `session/status`: whether a session is in memory or only stored.

use crate::v1::{Connection, errors, from_acp};
use agent::SessionId;
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Opens nothing.
pub(crate) async fn status(
    connection: &Connection,
    params: Value,
) -> Result<acp::SessionStatusResponse, Error> {
    let request: acp::SessionStatusRequest = from_acp::params("session/status", params)?;
    let id = SessionId(request.session_id.0.to_string());
    let status = if connection.runtime.find(&id).is_some() {
        acp::SessionStatus::Open
    } else {
        connection.runtime.record(&id).await.map_err(|error| errors::store(&error))?;
        acp::SessionStatus::Saved
    };
    Ok(acp::SessionStatusResponse::new(status))
}
