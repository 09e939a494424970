//! Logging in and out: credentials come from settings and the environment, so there is nothing to ask for.

use super::{Connection, Peer, Wire, errors};
use agent::Credentials;
use agent_client_protocol::Error;
use std::sync::atomic::Ordering;
use system::AbsPath;

/// The ids of all methods.
const METHODS: [&str; 3] = [METHOD, TERMINAL_METHOD, PILOT_METHOD];

/// The method that every client is offered.
pub(crate) const METHOD: &str = "tiller-provider";
/// Its name for people.
pub(crate) const METHOD_NAME: &str = "Configured provider";
/// What it does, for people.
pub(crate) const METHOD_DESCRIPTION: &str =
    "Uses the model provider from tiller's settings or environment; the built-in default needs none";

/// The method of clients that can show a terminal: the program itself asks there.
pub(crate) const TERMINAL_METHOD: &str = "tiller-setup";
/// Its name for people.
pub(crate) const TERMINAL_METHOD_NAME: &str = "Set up a provider";
/// What it does, for people.
pub(crate) const TERMINAL_METHOD_DESCRIPTION: &str =
    "Asks in a terminal for a model provider and its key, and keeps them";
/// What is appended to the arguments that the client starts the agent with.
pub(crate) const TERMINAL_METHOD_ARGS: [&str; 1] = ["--setup"];

/// The method of clients that let their users log in where a session is refused: no language model
/// is needed.
pub(crate) const PILOT_METHOD: &str = "tiller-pilot";
/// Its name for people.
pub(crate) const PILOT_METHOD_NAME: &str = "Try without a model";
/// What it does, for people.
pub(crate) const PILOT_METHOD_DESCRIPTION: &str = "Goes on with the built-in pilot, which is no language model: it carries out simple commands, and says so";

/// Whether the model of new sessions could be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthState {
    /// It needs no credentials.
    NotRequired,
    /// There are some, and nobody logged out.
    Authenticated,
    /// There are none, or the client logged out.
    Unauthenticated,
}

impl<W: Wire> Connection<W> {
    /// Succeeds for the methods offered, however often they are called; whether the client was
    /// logged out before. A client that shows a login is told where there is still nothing to log
    /// in with.
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

    /// Whether a session may begin in a folder. An error where no model is set up and the client
    /// lets its user do that now: the built-in pilot would take the prompts, and look like a poor
    /// model; what was set up since is taken up first. An error, too, where the client has logged
    /// out and the session's model needs credentials.
    pub(crate) async fn may_begin(&self, cwd: &AbsPath) -> Result<(), Error> {
        let shows = self.shows_login.load(Ordering::Relaxed) && !self.without_model.load(Ordering::Relaxed);
        if shows && self.runtime.is_unconfigured(cwd).await {
            return Err(errors::unconfigured(&METHODS));
        }
        // Which model it would be takes a look at the settings, and matters after a logout only.
        match self.logged_out.load(Ordering::Relaxed) {
            true => self.may_use(&self.runtime.default_model_in(Some(cwd)).await),
            false => Ok(()),
        }
    }

    /// Uses no credentials for this client until it logs in again, and whether it was logged in. They stay where the user keeps them.
    pub(crate) fn log_out(&self) -> bool {
        !self.logged_out.swap(true, Ordering::Relaxed)
    }

    /// Tells the client what it comes to that it logged in or out, where that makes a difference: there are credentials to use or not to use.
    pub(crate) async fn tell_auth(&self, peer: &Peer<W>) {
        let model = self.runtime.default_model().await;
        if self.runtime.models().credentials(&model) != Credentials::Present {
            return;
        }
        let state = match self.logged_out.load(Ordering::Relaxed) {
            true => AuthState::Unauthenticated,
            false => AuthState::Authenticated,
        };
        if let Err(error) = W::tell_auth(&peer.connection, state) {
            tracing::debug!(%error, "the connection is gone; the client is not told that it is logged in or out");
        }
    }

    /// Whether the model of new sessions could be used. Asks no provider.
    pub(crate) async fn auth_state(&self) -> AuthState {
        let model = self.runtime.default_model().await;
        let logged_out = self.logged_out.load(Ordering::Relaxed);
        match self.runtime.models().credentials(&model) {
            Credentials::NotNeeded => AuthState::NotRequired,
            Credentials::Present if !logged_out => AuthState::Authenticated,
            Credentials::Present | Credentials::Missing => AuthState::Unauthenticated,
        }
    }

    /// An error while the client is logged out and the model's provider wants credentials.
    pub(crate) fn may_use(&self, model: &str) -> Result<(), Error> {
        let open = !self.logged_out.load(Ordering::Relaxed)
            || self.runtime.models().credentials(model) == Credentials::NotNeeded;
        if open { Ok(()) } else { Err(errors::logged_out()) }
    }
}
