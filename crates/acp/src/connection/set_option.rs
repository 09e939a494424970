//! Changes the settings of a session for a client.

use super::{
    Connection, Wire, errors,
    settings::{CLIENT_TOOLS, MODE, MODEL, PERMISSION_MODE, THOUGHT_LEVEL, thought_level},
};
use crate::ClientTools;
use agent::{Mode, PermissionMode, SessionHandle};
use agent_client_protocol::Error;
use serde_json::Value;

/// Changes an option of a session; returns once the change is in force and recorded.
pub(super) async fn change<W: Wire>(
    connection: &Connection<W>,
    handle: &SessionHandle,
    id: &str,
    value: &Value,
) -> Result<(), Error> {
    let Some(value) = value.as_str() else {
        return Err(errors::invalid_params(format!(
            "value of {id} is the id of one of its options, a string"
        )));
    };
    let wrong = |error: agent::UnknownMode| errors::invalid_params(format!("value of {id}: {error}"));
    let changed = match id {
        MODE => handle.set_mode(value.parse::<Mode>().map_err(wrong)?).await,
        PERMISSION_MODE => handle.set_permission_mode(value.parse::<PermissionMode>().map_err(wrong)?).await,
        MODEL => return choose_model(connection, handle, value).await,
        THOUGHT_LEVEL => handle.set_effort(thought_level(value).map_err(wrong)?).await,
        CLIENT_TOOLS => {
            let tools = ClientTools::ALL.into_iter().find(|tools| tools.id() == value).ok_or_else(|| {
                let all = ClientTools::ALL.map(ClientTools::id).join(", ");
                errors::invalid_params(format!("value of {id}: unknown value {value:?}; use one of {all}"))
            })?;
            match connection.set_client_tools(handle, tools).await {
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
                "Unknown config option: {id}; use {MODE}, {MODEL}, {THOUGHT_LEVEL} or {PERMISSION_MODE}"
            )));
        }
    };
    changed.map_err(|error| errors::session(&error))
}

/// Changes a session's model to the one with the full id `id`.
pub(crate) async fn choose_model<W: Wire>(
    connection: &Connection<W>,
    handle: &SessionHandle,
    id: &str,
) -> Result<(), Error> {
    let chosen = handle.set_model(id).await;
    chosen.map_err(|error| errors::named_model(&error, id, &connection.models()))
}
