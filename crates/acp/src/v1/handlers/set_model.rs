//! `session/set_model`: left the protocol for a configuration option, but older clients still send it.

use crate::v1::{Connection, errors, from_acp};
use agent_client_protocol::{Error, v1::schema as acp};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    session_id: acp::SessionId,
    model_id: String,
}

/// Answers when the model is in force and recorded.
pub(crate) async fn set_model(connection: &Connection, params: Value) -> Result<Value, Error> {
    let params: Params = from_acp::params("session/set_model", params)?;
    let handle = connection.session(&params.session_id)?;
    handle.set_model(&params.model_id).await.map_err(|error| errors::session(&error))?;
    Ok(json!({}))
}
