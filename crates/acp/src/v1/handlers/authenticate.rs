//! `authenticate`, `logout` and `auth/status`.

use crate::{
    connection::{Reply, auth::METHOD, params},
    v1::{Connection, Peer, to_acp},
};
use agent_client_protocol::v1::schema as acp;
use serde_json::{Value, json};

/// Logs in with one of the offered methods; repeated calls succeed. Clients of the KosmoKrator wire
/// name no method, so the default one is used.
pub(crate) async fn authenticate(connection: &Connection, peer: &Peer, mut given: Value, reply: Reply) {
    if given.is_null() {
        given = json!({});
    }
    if let Some(params) = given.as_object_mut() {
        params.entry("methodId").or_insert_with(|| METHOD.into());
    }
    let method = params("authenticate", given)
        .map(|request: acp::AuthenticateRequest| request.method_id.0.to_string());
    connection.answer_login(peer, method, reply, acp::AuthenticateResponse::new()).await;
}

/// Stops using credentials for this client.
pub(crate) async fn logout(connection: &Connection, peer: &Peer, reply: Reply) {
    connection.answer_logout(peer, reply, acp::LogoutResponse::new()).await;
}

/// Returns whether the model for new sessions is usable. Never fails.
pub(crate) async fn auth_status(connection: &Connection) -> acp::AuthStatusResponse {
    acp::AuthStatusResponse::new(to_acp::auth_state(connection.auth_state().await))
}
