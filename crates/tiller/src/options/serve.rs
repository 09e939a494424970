//! Options of the server.

use crate::limits::SERVE_LINGER;
use std::time::Duration;

/// How `tiller serve` is reached, and what becomes of sessions without a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServeSettings {
    /// Where it listens; the user's own Unix socket if empty.
    pub(crate) listen: Vec<String>,
    /// Values of `Host` that are accepted over TCP beside those of loopback.
    pub(crate) hosts: Vec<String>,
    /// Origins of web pages that may use the server.
    pub(crate) origins: Vec<String>,
    /// Networks of reverse proxies.
    pub(crate) behind_proxy: Vec<String>,
    /// The PEM files of the certificate and of its key.
    pub(crate) tls_cert: Option<String>,
    pub(crate) tls_key: Option<String>,
    /// Ids of other users that may connect to the Unix socket.
    pub(crate) unix_users: Vec<u32>,
    /// Whether turns go on when their last client is gone.
    pub(crate) turns_go_on: bool,
    /// How long a connection without a socket can be resumed.
    pub(crate) resume_grace: Duration,
    /// How long a session with neither a client nor a turn stays open.
    pub(crate) linger: Duration,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            listen: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            behind_proxy: Vec::new(),
            tls_cert: None,
            tls_key: None,
            unix_users: Vec::new(),
            turns_go_on: true,
            resume_grace: ::serve::limits::RESUME_GRACE,
            linger: SERVE_LINGER,
        }
    }
}
