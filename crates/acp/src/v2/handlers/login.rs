//! `auth/login`, `auth/logout` and `auth/status`.

use crate::{
    connection::{Reply, params},
    v2::{Connection, Peer, to_acp},
};
use agent_client_protocol_schema::v2 as acp;
use serde_json::Value;

/// Logs in with one of the offered methods; repeated calls succeed.
pub(crate) async fn login(connection: &Connection, peer: &Peer, given: Value, reply: Reply) {
    let done = match params::<acp::LoginAuthRequest>("auth/login", given) {
        Ok(request) => connection.log_in(&request.method_id.0).await,
        Err(error) => Err(error),
    };
    let changed = done.as_ref().is_ok_and(|changed| *changed);
    reply.send(done.map(|_| acp::LoginAuthResponse::new()));
    if changed {
        connection.notify_auth(peer).await;
    }
}

/// Stops using credentials for this client.
pub(crate) async fn logout(connection: &Connection, peer: &Peer, reply: Reply) {
    let changed = connection.log_out();
    reply.send(Ok(acp::LogoutAuthResponse::new()));
    if changed {
        connection.notify_auth(peer).await;
    }
}

/// Returns whether the model for new sessions is usable. Never fails.
pub(crate) async fn auth_status(connection: &Connection) -> acp::AuthStatusResponse {
    acp::AuthStatusResponse::new(to_acp::auth_state(connection.auth_state().await))
}
