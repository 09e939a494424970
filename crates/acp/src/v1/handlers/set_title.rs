//! `session/set_title`: names a session, open or not.

use crate::{
    limits::TITLE_CHARS,
    v1::{Connection, errors, from_acp},
};
use agent::SessionId;
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Answers with the title as it is stored: one line, not too long.
pub(crate) async fn set_title(
    connection: &Connection,
    params: Value,
) -> Result<acp::SetSessionTitleResponse, Error> {
    let request: acp::SetSessionTitleRequest = from_acp::params("session/set_title", params)?;
    let title: String = request.title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let title: String = title.trim().chars().take(TITLE_CHARS).collect();
    if title.is_empty() {
        return Err(errors::invalid_params("title is empty; send some text"));
    }
    let id = SessionId(request.session_id.0.to_string());
    connection.runtime.set_title(&id, title.clone()).await.map_err(|error| errors::session(&error))?;
    Ok(acp::SetSessionTitleResponse::new(title))
}
