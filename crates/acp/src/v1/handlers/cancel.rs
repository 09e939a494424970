//! `session/cancel`: cancels the running turn and the prompts that wait.

use crate::v1::{Connection, from_acp};
use agent_client_protocol::v1::schema as acp;
use serde_json::Value;

/// A notification has no answer: what cannot be cancelled is logged.
pub(crate) fn cancel(connection: &Connection, params: Value) {
    let session = from_acp::params("session/cancel", params)
        .and_then(|request: acp::CancelNotification| connection.session(&request.session_id));
    match session {
        Ok(handle) => handle.cancel(),
        Err(error) => tracing::debug!(%error, "nothing to cancel"),
    }
}
