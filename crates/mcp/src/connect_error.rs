//! Why a server could not be connected to.

/// The reason why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// A retry would not help: something is missing or wrong in the description.
    #[error("{0}")]
    Permanent(String),
    /// The server requires a sign-in. A retry helps once there is another grant.
    #[error("{0}")]
    SignInRequired(String),
    /// The server failed this time; a retry may succeed.
    #[error("{0}")]
    Transient(String),
}
