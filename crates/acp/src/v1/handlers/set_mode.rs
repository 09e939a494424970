//! `session/set_mode`: changes the agent mode.

use crate::{
    connection::{errors, params},
    v1::Connection,
};
use agent::Mode;
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Changes the mode; responds once it is in force and recorded.
pub(crate) async fn set_mode(
    connection: &Connection,
    given: Value,
) -> Result<acp::SetSessionModeResponse, Error> {
    let request: acp::SetSessionModeRequest = params("session/set_mode", given)?;
    let handle = connection.find(&request.session_id.0)?;
    let mode: Mode =
        request.mode_id.0.parse().map_err(|error| errors::invalid_params(format!("modeId: {error}")))?;
    handle.set_mode(mode).await.map_err(|error| errors::session(&error))?;
    Ok(acp::SetSessionModeResponse::new())
}
