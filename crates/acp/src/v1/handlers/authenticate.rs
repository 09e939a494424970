//! `authenticate`, `logout`, `auth/status`: credentials come from settings and the environment, so there is nothing to ask for.

use crate::{
    connection::{errors, params},
    v1::Connection,
};
use agent::Credentials;
use agent_client_protocol::{Error, v1::schema as acp};
use serde_json::Value;
use std::sync::atomic::Ordering;

/// The one method offered.
pub(crate) const METHOD: &str = "tiller-provider";

/// Succeeds for the method offered, however often it is called.
pub(crate) fn authenticate(
    connection: &Connection,
    given: Value,
) -> Result<acp::AuthenticateResponse, Error> {
    let request: acp::AuthenticateRequest = params("authenticate", given)?;
    if &*request.method_id.0 == METHOD {
        connection.logged_out.store(false, Ordering::Relaxed);
        Ok(acp::AuthenticateResponse::new())
    } else {
        Err(errors::invalid_params(format!("unknown methodId {:?}; use {METHOD:?}", &*request.method_id.0)))
    }
}

/// Uses no credentials for this client until it authenticates again. They stay where the user keeps them.
pub(crate) fn logout(connection: &Connection) -> acp::LogoutResponse {
    connection.logged_out.store(true, Ordering::Relaxed);
    acp::LogoutResponse::new()
}

/// Tells whether the model of new sessions could be used. Never an error.
pub(crate) async fn auth_status(connection: &Connection) -> acp::AuthStatusResponse {
    let model = connection.runtime.default_model().await;
    let logged_out = connection.logged_out.load(Ordering::Relaxed);
    acp::AuthStatusResponse::new(match connection.runtime.models().credentials(&model) {
        Credentials::NotNeeded => acp::AuthState::NotRequired,
        Credentials::Present if !logged_out => acp::AuthState::Authenticated,
        Credentials::Present | Credentials::Missing => acp::AuthState::Unauthenticated,
    })
}
