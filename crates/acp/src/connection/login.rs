//! Login and logout. Credentials come from settings and the environment, so the client is not asked
//! for them.

use super::{
    Connection, Peer, Wire,
    auth::{AuthState, METHOD, METHODS, PILOT_METHOD, TERMINAL_METHOD},
    errors,
};
use agent::Credentials;
use agent_client_protocol::Error;
use std::sync::atomic::Ordering;
use system::AbsPath;

impl<W: Wire> Connection<W> {
    /// Logs the client in, and returns whether it was logged out before. Repeated calls succeed.
    ///
    /// # Errors
    /// When `method` is unknown; and, for clients that can show a login, when no model is
    /// configured yet.
    pub(crate) async fn log_in(&self, method: &str) -> Result<bool, Error> {
        match method {
            METHOD | TERMINAL_METHOD if !self.shows_login.load(Ordering::Relaxed) => {}
            METHOD | TERMINAL_METHOD => {
                if self.runtime.is_unconfigured(&self.options.default_cwd).await {
                    return Err(errors::unconfigured(&METHODS));
                }
            }
            PILOT_METHOD => self.without_model.store(true, Ordering::Relaxed),
            _ => {
                return Err(errors::invalid_params(format!("unknown methodId {method:?}; use {METHOD:?}")));
            }
        }
        Ok(self.logged_out.swap(false, Ordering::Relaxed))
    }

    /// Checks that a session may start in a directory.
    ///
    /// # Errors
    /// When no model is configured and the client can let its user configure one: otherwise the
    /// built-in pilot would take the prompts and look like a poor model. A model configured since
    /// the last check counts. Also when the client logged out and the session's model needs
    /// credentials.
    pub(crate) async fn check_may_start(&self, cwd: &AbsPath) -> Result<(), Error> {
        let shows = self.shows_login.load(Ordering::Relaxed) && !self.without_model.load(Ordering::Relaxed);
        if shows && self.runtime.is_unconfigured(cwd).await {
            return Err(errors::unconfigured(&METHODS));
        }
        // Finding the default model reads the settings, and is needed after a logout only.
        match self.logged_out.load(Ordering::Relaxed) {
            true => self.check_model_allowed(&self.runtime.default_model_in(Some(cwd)).await),
            false => Ok(()),
        }
    }

    /// Stops using credentials for this client until it logs in again, and returns whether it was
    /// logged in. The credentials stay stored.
    pub(crate) fn log_out(&self) -> bool {
        !self.logged_out.swap(true, Ordering::Relaxed)
    }

    /// Reports the new login state to the client, if it has an effect: that is, if there are
    /// credentials.
    pub(crate) async fn notify_auth(&self, peer: &Peer<W>) {
        let model = self.runtime.default_model().await;
        if self.runtime.models().credentials(&model) != Credentials::Present {
            return;
        }
        let state = match self.logged_out.load(Ordering::Relaxed) {
            true => AuthState::Unauthenticated,
            false => AuthState::Authenticated,
        };
        if let Err(error) = W::notify_auth(&peer.connection, state) {
            tracing::debug!(%error, "the connection is closed; the login state was not sent");
        }
    }

    /// Returns whether the model for new sessions is usable. Sends no request to the provider.
    pub(crate) async fn auth_state(&self) -> AuthState {
        let model = self.runtime.default_model().await;
        let logged_out = self.logged_out.load(Ordering::Relaxed);
        match self.runtime.models().credentials(&model) {
            Credentials::NotNeeded => AuthState::NotRequired,
            Credentials::Present if !logged_out => AuthState::Authenticated,
            Credentials::Present | Credentials::Missing => AuthState::Unauthenticated,
        }
    }

    /// Returns an error if the client is logged out and the model needs credentials.
    pub(crate) fn check_model_allowed(&self, model: &str) -> Result<(), Error> {
        let open = !self.logged_out.load(Ordering::Relaxed)
            || self.runtime.models().credentials(model) == Credentials::NotNeeded;
        if open { Ok(()) } else { Err(errors::logged_out()) }
    }
}
