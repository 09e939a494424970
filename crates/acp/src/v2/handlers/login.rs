//! `auth/login`, `auth/logout` and `auth/status`.

use crate::{
    connection::{Reply, params},
    v2::{Connection, Peer, to_acp},
};
use agent_client_protocol_schema::v2 as acp;
use serde_json::Value;

/// Logs in with one of the offered methods; repeated calls succeed.
pub(crate) async fn login(connection: &Connection, peer: &Peer, given: Value, reply: Reply) {
    let method =
        params("auth/login", given).map(|request: acp::LoginAuthRequest| request.method_id.0.to_string());
    connection.answer_login(peer, method, reply, acp::LoginAuthResponse::new()).await;
}

/// Stops using credentials for this client.
pub(crate) async fn logout(connection: &Connection, peer: &Peer, reply: Reply) {
    connection.answer_logout(peer, reply, acp::LogoutAuthResponse::new()).await;
}

/// Returns whether the model for new sessions is usable. Never fails.
pub(crate) async fn auth_status(connection: &Connection) -> acp::AuthStatusResponse {
    acp::AuthStatusResponse::new(to_acp::auth_state(connection.auth_state().await))
}
