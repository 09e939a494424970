//! `authenticate` and `auth/status`.

use crate::{
    connection::{auth::AuthState, params},
    v1::Connection,
};
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;

/// Succeeds for the method offered, however often it is called.
pub(crate) fn authenticate(
    connection: &Connection,
    given: Value,
) -> Result<acp::AuthenticateResponse, Error> {
    let request: acp::AuthenticateRequest = params("authenticate", given)?;
    connection.log_in(&request.method_id.0)?;
    Ok(acp::AuthenticateResponse::new())
}

/// Tells whether the model of new sessions could be used. Never an error.
pub(crate) async fn auth_status(connection: &Connection) -> acp::AuthStatusResponse {
    acp::AuthStatusResponse::new(match connection.auth_state().await {
        AuthState::NotRequired => acp::AuthState::NotRequired,
        AuthState::Authenticated => acp::AuthState::Authenticated,
        AuthState::Unauthenticated => acp::AuthState::Unauthenticated,
    })
}
