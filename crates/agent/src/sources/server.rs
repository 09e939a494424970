//! Servers that the client brings along for one session.

use std::fmt;

/// An MCP server as the client describes it.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientServer {
    /// What the client calls it.
    pub name: String,
    /// How it is reached.
    pub how: ClientServerKind,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientServerKind {
    /// A program of this machine that is spoken to over its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables of its environment; values may be secret.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Http {
        /// The address.
        url: String,
        /// Headers of every request; values may be secret.
        headers: Vec<(String, String)>,
    },
    /// HTTP with server-sent events, the transport before streamable HTTP.
    Sse {
        /// The address.
        url: String,
        /// Headers of every request; values may be secret.
        headers: Vec<(String, String)>,
    },
}

impl fmt::Debug for ClientServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientServer").field("name", &self.name).field("how", &self.how).finish()
    }
}

/// Names, and no values.
impl fmt::Debug for ClientServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |pairs: &[(String, String)]| -> Vec<String> {
            pairs.iter().map(|(name, _)| name.clone()).collect()
        };
        match self {
            Self::Stdio { command, args, env } => f
                .debug_struct("Stdio")
                .field("command", command)
                .field("args", &args.len())
                .field("env", &names(env))
                .finish(),
            Self::Http { headers, .. } => f.debug_struct("Http").field("headers", &names(headers)).finish(),
            Self::Sse { headers, .. } => f.debug_struct("Sse").field("headers", &names(headers)).finish(),
        }
    }
}
