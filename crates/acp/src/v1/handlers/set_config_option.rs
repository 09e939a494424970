//! `session/set_config_option`: changes a mode, the model or its thought level, or which tools act
//! where, and responds with all options.

use crate::v1::{Connection, settings::config_options};
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Changes an option; responds once the change is in force and recorded.
pub(crate) async fn set_config_option(
    connection: &Connection,
    params: Value,
) -> Result<acp::SetSessionConfigOptionResponse, Error> {
    let handle = connection.set_option(params).await?;
    let settings = connection.settings(&handle);
    Ok(acp::SetSessionConfigOptionResponse::new(config_options(&settings, &connection.models())))
}
