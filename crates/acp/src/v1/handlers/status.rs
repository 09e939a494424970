//! `session/status`: reports whether a session is in memory or only stored.

use crate::v1::Connection;
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Returns the status without opening the session.
pub(crate) async fn status(
    connection: &Connection,
    params: Value,
) -> Result<acp::SessionStatusResponse, Error> {
    let open = connection.is_open(params).await?;
    let status = if open { acp::SessionStatus::Open } else { acp::SessionStatus::Saved };
    Ok(acp::SessionStatusResponse::new(status))
}
