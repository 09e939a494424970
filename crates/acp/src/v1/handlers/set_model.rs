//! `session/set_model`: replaced in the protocol by a configuration option, but older clients still
//! send it.

use crate::{
    connection::{params, set_option::choose_model},
    v1::{Connection, settings::config_options},
};
use agent_client_protocol::Error;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    session_id: String,
    model_id: String,
}

/// Changes the model; responds once it is in force and recorded.
pub(crate) async fn set_model(connection: &Connection, given: Value) -> Result<Value, Error> {
    let given: Params = params("session/set_model", given)?;
    let handle = connection.find(&given.session_id)?;
    let model = match (given.model_id.contains('/'), handle.state().model.split_once('/')) {
        (false, Some((provider, _))) => format!("{provider}/{}", given.model_id),
        _ => given.model_id,
    };
    choose_model(connection, &handle, &model).await?;
    if connection.native.is_kosmokrator() {
        let settings = connection.settings(&handle);
        return Ok(json!({ "configOptions": config_options(&settings, &connection.models()) }));
    }
    Ok(json!({}))
}
