//! The authentication methods and the login state.

/// The method offered to every client.
pub(crate) const METHOD: &str = "tiller-provider";
/// Its display name.
pub(crate) const METHOD_NAME: &str = "Configured provider";
/// Its description for users.
pub(crate) const METHOD_DESCRIPTION: &str =
    "Uses the model provider from tiller's settings or environment; the built-in default needs none";

/// The method for clients that can show a terminal: Tiller itself prompts there.
pub(crate) const TERMINAL_METHOD: &str = "tiller-setup";
/// Its display name.
pub(crate) const TERMINAL_METHOD_NAME: &str = "Set up a provider";
/// Its description for users.
pub(crate) const TERMINAL_METHOD_DESCRIPTION: &str =
    "Asks in a terminal for a model provider and its key, and stores them";
/// Arguments appended to those with which the client starts the agent.
pub(crate) const TERMINAL_METHOD_ARGS: [&str; 1] = ["--setup"];

/// The method for clients that let users authenticate when a session is refused: no language model
/// is needed.
pub(crate) const PILOT_METHOD: &str = "tiller-pilot";
/// Its display name.
pub(crate) const PILOT_METHOD_NAME: &str = "Try without a model";
/// Its description for users.
pub(crate) const PILOT_METHOD_DESCRIPTION: &str =
    "Continues with the built-in pilot, which is not a language model: it carries out simple commands only";

/// Whether the default model for new sessions has its credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AuthState {
    /// The model needs no credentials.
    NotRequired,
    /// Credentials are configured, and the client has not logged out.
    Authenticated,
    /// Credentials are missing, or the client logged out.
    Unauthenticated,
}
