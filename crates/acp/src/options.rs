//! The options of a server, resolved once by the binary.

use crate::{
    Link, Pipe, limits,
    native::{NativeServices, NoServices},
};
use agent::{Scope, principal::Operation};
use std::{sync::Arc, time::Duration};
use system::{AbsPath, System};
use tokio_util::sync::CancellationToken;

/// Options of [`serve()`](crate::serve()).
#[derive(Clone)]
pub struct AcpOptions {
    /// How the agent introduces itself.
    pub identity: Identity,
    /// The protocol version to serve.
    pub protocol: Protocol,
    /// Whether the native layer's events are sent.
    pub events: Events,
    /// The services behind those requests of the native layer that concern more than a session.
    pub services: Arc<dyn NativeServices>,
    /// The working directory of sessions for which the client names none.
    pub default_cwd: AbsPath,
    /// Which machine performs which operation.
    pub machines: Machines,
    /// The bounds of what the client sends.
    pub bounds: ClientBounds,
    /// What the connection's credential permits.
    pub permits: Arc<dyn Fn(Operation) -> Result<(), Scope> + Send + Sync>,
    /// How the way to the client behaves.
    pub link: Arc<dyn Link>,
    /// Cancel this when the client is known to have stopped reading. Otherwise that shows only when
    /// a write fails.
    pub output_closed: CancellationToken,
}

/// How the agent introduces itself.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its machine-readable name.
    pub name: String,
    /// Its display name.
    pub title: String,
    /// Its version.
    pub version: String,
}

/// Which machine performs which operation: the agent's or the client's.
#[derive(Clone)]
pub struct Machines {
    /// The local system. It performs every operation that the client does not.
    pub local: Arc<dyn System>,
    /// Where commands run when the client has terminals.
    pub terminal: TerminalPlace,
    /// Which tools act on which machine, unless a session sets it.
    pub client_tools: ClientTools,
    /// The folder on the agent's machine below which the directories of all sessions lie; anywhere
    /// without it.
    pub folder: Option<AbsPath>,
}

impl Machines {
    /// Returns the folder below which a directory must lie, if it does not, with its links
    /// resolved.
    pub(crate) async fn folder_left_by(&self, directory: &AbsPath) -> Option<&AbsPath> {
        let folder = self.folder.as_ref()?;
        let (below, found) = (self.local.resolve(folder).await, self.local.resolve(directory).await);
        let is_below = matches!((below, found), (Ok(below), Ok(found)) if found.starts_with(&below));
        (!is_below).then_some(folder)
    }
}

/// The bounds of what the client sends.
#[derive(Debug, Clone)]
pub struct ClientBounds {
    /// Maximum bytes of one incoming line; a longer one is rejected.
    pub line_bytes: usize,
    /// Timeout for the client's responses, except permission requests and waiting for a command's
    /// exit.
    pub timeout: Duration,
}

/// The protocol version to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The version that the client requests.
    #[default]
    Auto,
    /// Version 1, regardless of the client's request.
    V1,
    /// Version 2, a draft. A client that requests version 1 is rejected.
    V2,
}

/// Whether the native layer's events are sent, and under which prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Events {
    /// Sent to clients that request them, under the prefix that they request.
    #[default]
    Auto,
    /// Never sent.
    Off,
    /// Always sent, as `_tiller/…`.
    Tiller,
    /// Always sent, as `kosmokrator/…`; responses have that wire's keys beside the protocol's.
    Kosmokrator,
}

/// Where commands run when the client has terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TerminalPlace {
    /// In the client's terminal.
    #[default]
    Client,
    /// On the agent's machine.
    Local,
}

/// Which tools act on which machine. Use [`Self::Transparent`] if the agent runs on the editor's
/// machine, [`Self::Ide`] if it runs elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientTools {
    /// The agent's own tools act through the editor for each operation that it offers.
    #[default]
    Transparent,
    /// The agent's own tools act on its machine; additional tools, `ide_…`, act on the editor's.
    Ide,
    /// The agent's own tools act on its machine; there are no others.
    Off,
}

impl ClientTools {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Transparent, Self::Ide, Self::Off];

    /// Returns the id used in settings and on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Self::Transparent => "transparent",
            Self::Ide => "ide",
            Self::Off => "off",
        }
    }

    /// Returns a description for users.
    pub fn description(self) -> &'static str {
        match self {
            Self::Transparent => "The agent's tools act through the editor for each operation that it offers",
            Self::Ide => {
                "The agent's tools act on its own machine; additional ones (ide_…) act on the editor's"
            }
            Self::Off => "The agent's tools act on its own machine; none act on the editor's",
        }
    }
}

impl AcpOptions {
    /// Returns the default options over a local system.
    pub fn new(local: Arc<dyn System>, version: impl Into<String>, default_cwd: AbsPath) -> Self {
        Self {
            identity: Identity {
                name: "tiller".to_owned(),
                title: "Tiller".to_owned(),
                version: version.into(),
            },
            protocol: Protocol::default(),
            events: Events::default(),
            services: Arc::new(NoServices),
            default_cwd,
            machines: Machines {
                local,
                terminal: TerminalPlace::default(),
                client_tools: ClientTools::default(),
                folder: None,
            },
            bounds: ClientBounds { line_bytes: limits::FRAME_BYTES, timeout: limits::CLIENT_TIMEOUT },
            permits: Arc::new(|_| Ok(())),
            link: Arc::new(Pipe),
            output_closed: CancellationToken::new(),
        }
    }
}
