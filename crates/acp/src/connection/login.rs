//! Login and logout. Credentials come from settings and the environment, so the client is not asked
//! for them.

use super::{
    Connection, Peer, Reply, Wire,
    auth::{AuthState, METHOD, PILOT_METHOD, TERMINAL_METHOD},
    errors,
};
use agent::Credentials;
use agent_client_protocol::Error;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use system::AbsPath;

/// What a client and its user have decided about credentials.
#[derive(Debug, Default)]
pub(crate) struct Login {
    /// Whether the client has logged out and not authenticated since.
    logged_out: AtomicBool,
    /// Whether the client lets its user authenticate when a session is refused for lack of it.
    is_shown: AtomicBool,
    /// Whether the user chose to continue without a language model, until one is configured.
    without_model: AtomicBool,
}

impl Login {
    /// Registers that the client lets its user authenticate when a session is refused for lack of
    /// it.
    pub(crate) fn set_shown(&self) {
        self.is_shown.store(true, Ordering::Relaxed);
    }
}

impl<W: Wire> Connection<W> {
    /// Logs the client in and responds, then reports a changed login state. `method` is the id of
    /// an authentication method, or the error of a request that names none.
    pub(crate) async fn answer_login(
        &self,
        peer: &Peer<W>,
        method: Result<String, Error>,
        reply: Reply,
        response: impl Serialize + Send,
    ) {
        let done = match method {
            Ok(method) => self.log_in(&method).await,
            Err(error) => Err(error),
        };
        let changed = done.as_ref().is_ok_and(|changed| *changed);
        reply.send(done.map(|_| response));
        if changed {
            self.notify_auth(peer).await;
        }
    }

    /// Logs the client out and responds, then reports a changed login state.
    pub(crate) async fn answer_logout(&self, peer: &Peer<W>, reply: Reply, response: impl Serialize + Send) {
        let changed = self.log_out();
        reply.send(Ok(response));
        if changed {
            self.notify_auth(peer).await;
        }
    }

    /// Logs the client in, and returns whether it was logged out before. Repeated calls succeed.
    ///
    /// # Errors
    /// When `method` is unknown; and, for clients that can show a login, when no model is
    /// configured yet.
    async fn log_in(&self, method: &str) -> Result<bool, Error> {
        match method {
            METHOD | TERMINAL_METHOD if !self.login.is_shown.load(Ordering::Relaxed) => {}
            METHOD | TERMINAL_METHOD => self.check_configured(&self.options.default_cwd).await?,
            PILOT_METHOD => {
                self.login.without_model.store(true, Ordering::Relaxed);
                self.options.services.set_without_model().await;
            }
            _ => {
                return Err(errors::invalid_params(format!("unknown methodId {method:?}; use {METHOD:?}")));
            }
        }
        Ok(self.login.logged_out.swap(false, Ordering::Relaxed))
    }

    /// Checks that a session may start in a directory.
    ///
    /// # Errors
    /// When no model is configured and the client can let its user configure one: otherwise the
    /// built-in pilot would take the prompts and look like a poor model. A model configured since
    /// the last check counts. Also when the client logged out and the session's model needs
    /// credentials.
    pub(crate) async fn check_may_start(&self, cwd: &AbsPath) -> Result<(), Error> {
        if self.login.is_shown.load(Ordering::Relaxed) {
            self.check_configured(cwd).await?;
        }
        // Finding the default model reads the settings, and is needed after a logout only.
        match self.login.logged_out.load(Ordering::Relaxed) {
            true => self.check_model_allowed(&self.runtime.default_model_in(Some(cwd)).await),
            false => Ok(()),
        }
    }

    /// Checks that a model is configured, or that the user has chosen to continue without one.
    async fn check_configured(&self, cwd: &AbsPath) -> Result<(), Error> {
        if self.login.without_model.load(Ordering::Relaxed)
            || !self.runtime.is_unconfigured(cwd).await
            || self.options.services.is_without_model().await
        {
            return Ok(());
        }
        let methods: &[&str] = match self.options.link.is_of_child() {
            true => &[METHOD, TERMINAL_METHOD, PILOT_METHOD],
            false => &[METHOD, PILOT_METHOD],
        };
        Err(errors::unconfigured(methods, self.options.machines.folder.is_some()))
    }

    /// Stops using credentials for this client until it logs in again, and returns whether it was
    /// logged in. The credentials stay stored.
    fn log_out(&self) -> bool {
        !self.login.logged_out.swap(true, Ordering::Relaxed)
    }

    /// Reports the new login state to the client, if it has an effect: that is, if there are
    /// credentials.
    async fn notify_auth(&self, peer: &Peer<W>) {
        let model = self.runtime.default_model().await;
        if self.runtime.models().credentials(&model) != Credentials::Present {
            return;
        }
        let state = match self.login.logged_out.load(Ordering::Relaxed) {
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
        let logged_out = self.login.logged_out.load(Ordering::Relaxed);
        match self.runtime.models().credentials(&model) {
            Credentials::NotNeeded => AuthState::NotRequired,
            Credentials::Present if !logged_out => AuthState::Authenticated,
            Credentials::Present | Credentials::Refused | Credentials::Missing => AuthState::Unauthenticated,
        }
    }

    /// Returns an error if the client is logged out and the model needs credentials.
    pub(crate) fn check_model_allowed(&self, model: &str) -> Result<(), Error> {
        let open = !self.login.logged_out.load(Ordering::Relaxed)
            || self.runtime.models().credentials(model) == Credentials::NotNeeded;
        if open { Ok(()) } else { Err(errors::logged_out()) }
    }
}
