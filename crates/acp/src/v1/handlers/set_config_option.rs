//! `session/set_config_option`: changes a mode, the model or its thought level, and answers with all options.

use crate::ClientTools;
use crate::v1::{
    Connection, errors, from_acp,
    settings::{CLIENT_TOOLS, MODE, MODEL, PERMISSION_MODE, THOUGHT_LEVEL, config_options, thought_level},
};
use agent::{Mode, PermissionMode};
use agent_client_protocol::{Error, v1::schema as acp};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    session_id: acp::SessionId,
    config_id: String,
    value: Value,
}

/// Answers with the full list once the change is in force and recorded.
pub(crate) async fn set_config_option(
    connection: &Connection,
    params: Value,
) -> Result<acp::SetSessionConfigOptionResponse, Error> {
    let params: Params = from_acp::params("session/set_config_option", params)?;
    let handle = connection.session(&params.session_id)?;
    let id = params.config_id.as_str();
    let Some(value) = params.value.as_str() else {
        return Err(errors::invalid_params(format!(
            "value of {id} is the id of one of its options, a string"
        )));
    };
    let wrong = |error: agent::UnknownMode| errors::invalid_params(format!("value of {id}: {error}"));
    let changed = match id {
        MODE => handle.set_mode(value.parse::<Mode>().map_err(wrong)?).await,
        PERMISSION_MODE => handle.set_permission_mode(value.parse::<PermissionMode>().map_err(wrong)?).await,
        MODEL => handle.set_model(value).await,
        THOUGHT_LEVEL => handle.set_effort(thought_level(value).map_err(wrong)?).await,
        CLIENT_TOOLS => {
            let tools = ClientTools::ALL.into_iter().find(|tools| tools.id() == value).ok_or_else(|| {
                let all = ClientTools::ALL.map(ClientTools::id).join(", ");
                errors::invalid_params(format!("value of {id}: unknown value {value:?}; use one of {all}"))
            })?;
            match connection.set_client_tools(&handle, tools).await {
                Ok(false) => {
                    return Err(errors::invalid_params(format!(
                        "{id} cannot be set: the client advertises neither files nor terminals"
                    )));
                }
                changed => changed.map(drop),
            }
        }
        _ => {
            return Err(errors::invalid_params(format!(
                "unknown configId {id:?}; use {MODE}, {MODEL}, {THOUGHT_LEVEL} or {PERMISSION_MODE}"
            )));
        }
    };
    changed.map_err(|error| errors::session(&error))?;
    let settings = connection.settings(&handle);
    Ok(acp::SetSessionConfigOptionResponse::new(config_options(&settings, &connection.models())))
}
