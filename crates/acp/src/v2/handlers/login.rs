//! `auth/login` and `auth/status`.

use crate::{
    connection::{Reply, auth::AuthState, params},
    v2::{Connection, Peer},
};
use agent_client_protocol_schema::v2 as acp;
use serde_json::Value;

/// Succeeds for the method offered, however often it is called.
pub(crate) async fn login(connection: &Connection, peer: &Peer, given: Value, reply: Reply) {
    let done = match params::<acp::LoginAuthRequest>("auth/login", given) {
        Ok(request) => connection.log_in(&request.method_id.0).await,
        Err(error) => Err(error),
    };
    let changed = done.as_ref().is_ok_and(|changed| *changed);
    reply.send(done.map(|_| acp::LoginAuthResponse::new()));
    if changed {
        connection.tell_auth(peer).await;
    }
}

/// Uses no credentials for this client from here on.
pub(crate) async fn logout(connection: &Connection, peer: &Peer, reply: Reply) {
    let changed = connection.log_out();
    reply.send(Ok(acp::LogoutAuthResponse::new()));
    if changed {
        connection.tell_auth(peer).await;
    }
}

/// Tells whether the model of new sessions could be used. Never an error.
pub(crate) async fn auth_status(connection: &Connection) -> acp::AuthStatusResponse {
    acp::AuthStatusResponse::new(auth_word(connection.auth_state().await))
}

/// The state as the wire has it.
pub(crate) fn auth_word(state: AuthState) -> acp::AuthState {
    match state {
        AuthState::NotRequired => acp::AuthState::NotRequired,
        AuthState::Authenticated => acp::AuthState::Authenticated,
        AuthState::Unauthenticated => acp::AuthState::Unauthenticated,
    }
}
