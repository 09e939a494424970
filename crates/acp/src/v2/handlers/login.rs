//! `auth/login` and `auth/status`.

use crate::{
    connection::{auth::AuthState, params},
    v2::Connection,
};
use agent_client_protocol::{Error, v2::schema as acp};
use serde_json::Value;

/// Succeeds for the method offered, however often it is called.
pub(crate) fn login(connection: &Connection, given: Value) -> Result<acp::LoginAuthResponse, Error> {
    let request: acp::LoginAuthRequest = params("auth/login", given)?;
    connection.log_in(&request.method_id.0)?;
    Ok(acp::LoginAuthResponse::new())
}

/// Tells whether the model of new sessions could be used. Never an error.
pub(crate) async fn auth_status(connection: &Connection) -> acp::AuthStatusResponse {
    acp::AuthStatusResponse::new(match connection.auth_state().await {
        AuthState::NotRequired => acp::AuthState::NotRequired,
        AuthState::Authenticated => acp::AuthState::Authenticated,
        AuthState::Unauthenticated => acp::AuthState::Unauthenticated,
    })
}
