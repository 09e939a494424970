//! How the surface behaves; resolved once, at the edge.

use crate::limits;
use std::{sync::Arc, time::Duration};
use system::{AbsPath, System};

/// Options of [`crate::serve`].
#[derive(Clone)]
pub struct AcpOptions {
    /// The machine this process runs on: takes every effect that the client does not.
    pub local: Arc<dyn System>,
    /// The agent's name for programs.
    pub name: String,
    /// The agent's name for people.
    pub title: String,
    /// The agent's version.
    pub version: String,
    /// The folder of sessions whose client names none.
    pub default_cwd: AbsPath,
    /// Where commands run when the client has terminals.
    pub terminal: TerminalPlace,
    /// Bytes of one incoming line; a longer one is refused.
    pub frame_cap: usize,
    /// How long the client has to answer a request, permissions and the end of commands excepted.
    pub client_timeout: Duration,
}

/// Where commands run when the client has terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TerminalPlace {
    /// In the client's terminal.
    #[default]
    Client,
    /// On this machine.
    Local,
}

impl AcpOptions {
    /// The defaults over a local system.
    pub fn new(local: Arc<dyn System>, version: impl Into<String>, default_cwd: AbsPath) -> Self {
        Self {
            local,
            name: "tiller".to_owned(),
            title: "Tiller".to_owned(),
            version: version.into(),
            default_cwd,
            terminal: TerminalPlace::default(),
            frame_cap: limits::FRAME_BYTES,
            client_timeout: limits::CLIENT_TIMEOUT,
        }
    }
}
