//! What an administrator sees of a connection.

use crate::auth::Source;
use agent::Principal;
use jiff::Timestamp;

/// A connection, as an administrator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionInfo {
    /// Its id; not a secret.
    pub id: String,
    /// Who opened it.
    pub principal: Principal,
    /// Where its first socket came from.
    pub source: Source,
    /// Whether it is a WebSocket; otherwise it is made of HTTP requests.
    pub is_websocket: bool,
    /// When it was opened.
    pub opened: Timestamp,
    /// Whether it has a socket now.
    pub is_attached: bool,
}
