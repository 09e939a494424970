//! The address of a server, as a user writes it.

use super::{Dial, DialTcp, DialUnix};
use axum::http::Uri;
use rustls::ClientConfig;
use std::{path::PathBuf, sync::Arc};

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// A host on the network.
    Network {
        /// Whether TLS is used.
        tls: bool,
        /// The host name or address.
        host: String,
        /// The port.
        port: u16,
        /// The path of the protocol.
        path: String,
    },
}

/// An address that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not the address of a server: {why}; write wss://HOST[:PORT][/PATH] or unix:PATH")]
pub struct BadTarget {
    // The text is not here: it may hold a secret.
    why: &'static str,
}

impl Target {
    /// Reads `unix:PATH`, `ws://…`, `wss://…`, `http://…` or `https://…`. Without a path, that of
    /// the protocol is taken.
    ///
    /// # Errors
    /// If the text is none of these, or holds a user name, a password or a query: secrets do not
    /// belong into addresses.
    pub fn parse(text: &str) -> Result<Self, BadTarget> {
        let bad = |why| BadTarget { why };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.strip_prefix("//").unwrap_or(path) {
                "" => Err(bad("the path is missing")),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let uri: Uri = text.parse().map_err(|_| bad("it is not a URL"))?;
        let tls = match uri.scheme_str() {
            Some("ws" | "http") => false,
            Some("wss" | "https") => true,
            _ => return Err(bad("its scheme is not ws, wss, http, https or unix")),
        };
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(bad("it has a user name or a password; set TILLER_TOKEN instead"));
        }
        if uri.query().is_some() {
            return Err(bad("it has a query; set TILLER_TOKEN for a token"));
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("the host is missing"))?;
        Ok(Self::Network {
            tls,
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(if tls { 443 } else { 80 }),
            path: match uri.path() {
                "" | "/" => "/acp".to_owned(),
                path => path.to_owned(),
            },
        })
    }

    /// Whether a token would cross the network without encryption.
    pub fn is_exposed(&self) -> bool {
        match self {
            Self::Unix(_) | Self::Network { tls: true, .. } => false,
            Self::Network { host, .. } => {
                let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
                host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
            }
        }
    }

    /// Whether TLS is used.
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Network { tls: true, .. })
    }

    /// Returns what opens sockets to it, the value of `Host`, and the path of the protocol. The
    /// configuration of TLS must be given if [it is used](Self::is_tls).
    pub fn dial(self, config: Option<Arc<ClientConfig>>) -> (Arc<dyn Dial>, String, String) {
        match self {
            Self::Unix(path) => (Arc::new(DialUnix(path)), "localhost".to_owned(), "/acp".to_owned()),
            Self::Network { tls, host, port, path } => {
                let name = match (tls, port) {
                    (true, 443) | (false, 80) => host.clone(),
                    _ => format!("{host}:{port}"),
                };
                (Arc::new(DialTcp { host, port, tls: config.filter(|_| tls) }), name, path)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(tls: bool, host: &str, port: u16, path: &str) -> Target {
        Target::Network { tls, host: host.to_owned(), port, path: path.to_owned() }
    }

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, target) in [
            ("unix:/run/s.sock", Target::Unix("/run/s.sock".into())),
            ("unix:///run/s.sock", Target::Unix("/run/s.sock".into())),
            ("wss://agents.example", network(true, "agents.example", 443, "/acp")),
            ("https://agents.example/", network(true, "agents.example", 443, "/acp")),
            ("ws://127.0.0.1:7000", network(false, "127.0.0.1", 7000, "/acp")),
            ("http://[::1]:7000/x/acp", network(false, "[::1]", 7000, "/x/acp")),
        ] {
            assert_eq!(Target::parse(text), Ok(target), "{text}");
        }
    }

    #[test]
    fn secrets_in_addresses_are_refused_and_not_repeated() {
        for text in
            ["wss://user:geheim@host", "wss://host?token=geheim", "ftp://host", "host:7000", "unix:", ""]
        {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(!error.contains("geheim"), "{error}");
        }
    }

    #[test]
    fn only_loopback_may_be_reached_without_tls() {
        for (text, exposed) in [
            ("ws://127.0.0.1:1", false),
            ("ws://localhost:1", false),
            ("ws://[::1]:1", false),
            ("ws://10.0.0.1:1", true),
            ("wss://10.0.0.1", false),
            ("unix:/s", false),
        ] {
            assert_eq!(Target::parse(text).unwrap().is_exposed(), exposed, "{text}");
        }
    }
}
