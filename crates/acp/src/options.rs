//! How the surface behaves; resolved once, at the edge.

use crate::{
    limits,
    native::{NativeServices, NoServices},
};
use std::{sync::Arc, time::Duration};
use system::{AbsPath, System};
use tokio_util::sync::CancellationToken;

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
    /// Which version of the protocol is served.
    pub protocol: Protocol,
    /// Whether the events of the native layer are told.
    pub events: Events,
    /// What requests of the native layer act on beyond sessions.
    pub services: Arc<dyn NativeServices>,
    /// Where commands run when the client has terminals.
    pub terminal: TerminalPlace,
    /// Which tools act where, until a session says otherwise.
    pub client_tools: ClientTools,
    /// Whether sessions take MCP servers that the client gives.
    pub mcp: bool,
    /// Bytes of one incoming line; a longer one is refused.
    pub frame_cap: usize,
    /// How long the client has to answer a request, permissions and the end of commands excepted.
    pub client_timeout: Duration,
    /// To be cancelled when the client is known to read no more. Without it that shows when
    /// something is written.
    pub output_closed: CancellationToken,
}

/// Which version of the protocol is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The one the client asks for.
    #[default]
    Auto,
    /// The first, whatever the client asks for.
    First,
    /// The second, a draft; a client that asks for the first is refused.
    #[cfg(feature = "v2")]
    Second,
}

/// Whether the events of the native layer are told, and in which spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Events {
    /// To clients that ask for them, in the spelling in which they ask.
    #[default]
    Auto,
    /// Never.
    Off,
    /// Always, as `_tiller/…`.
    Tiller,
    /// Always, as `kosmokrator/…`; answers have the keys of that wire beside the protocol's.
    Kosmokrator,
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

/// Which tools act where. Where the agent runs beside the editor there is one machine, and the first is right; an agent elsewhere wants the
/// second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientTools {
    /// The agent's own tools act through the editor where it offers that.
    #[default]
    Transparent,
    /// The agent's own tools act on its machine; further tools, `ide_…`, act on the editor's.
    Ide,
    /// The agent's own tools act on its machine, and there are no others.
    Off,
}

impl ClientTools {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Transparent, Self::Ide, Self::Off];

    /// Its word in settings and on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Transparent => "transparent",
            Self::Ide => "ide",
            Self::Off => "off",
        }
    }

    /// What it does, for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::Transparent => "The agent's tools work through the editor where it offers that",
            Self::Ide => {
                "The agent's tools work on its own machine; further ones (ide_…) work on the editor's"
            }
            Self::Off => "The agent's tools work on its own machine; the editor's machine is left alone",
        }
    }
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
            protocol: Protocol::default(),
            events: Events::default(),
            services: Arc::new(NoServices),
            terminal: TerminalPlace::default(),
            client_tools: ClientTools::default(),
            mcp: false,
            frame_cap: limits::FRAME_BYTES,
            client_timeout: limits::CLIENT_TIMEOUT,
            output_closed: CancellationToken::new(),
        }
    }
}
