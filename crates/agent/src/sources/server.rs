//! MCP servers that a client provides for one session.

use std::fmt;

/// An MCP server as described by the client.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientServer {
    /// The client's name for it.
    pub name: String,
    /// Its transport.
    pub how: ClientServerKind,
}

/// The transport of an MCP server.
#[derive(Clone, PartialEq, Eq)]
pub enum ClientServerKind {
    /// A program on this machine, connected through its standard streams.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment variables; values may be secret.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Http {
        /// The URL.
        url: String,
        /// Headers of every request; values may be secret.
        headers: Vec<(String, String)>,
    },
    /// HTTP with server-sent events, the predecessor of streamable HTTP.
    Sse {
        /// The URL.
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

/// Prints the names of headers and variables without their values, which may be secret.
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
