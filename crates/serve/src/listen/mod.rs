//! Listeners: where sockets come from.

mod accept;
mod tcp;
mod tls;
mod unix;

pub(crate) use accept::Acceptor;
pub use tcp::Proxies;
pub(crate) use tcp::tune;
pub(crate) use tls::node_client;
pub use tls::{CertificateFiles, TlsError};

use crate::http::Names;
use std::{io, net::SocketAddr, path::PathBuf, sync::Arc};
use tokio::net::{TcpListener, UnixListener};

/// A listener, bound and not yet accepting.
pub struct Listener {
    pub(crate) socket: Socket,
    pub(crate) names: Names,
    /// Whether its clients are other nodes.
    pub(crate) serves_nodes: bool,
}

pub(crate) enum Socket {
    Unix(UnixListener, unix::SocketFile),
    Tcp { listener: TcpListener, tls: Option<Arc<tls::Certificates>>, proxies: Proxies },
}

/// Why a listener could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another server answers at this path.
    #[error("another server already listens on {0}; stop it, or pass --listen with another path")]
    InUse(String),
    /// Someone else could reach or replace the socket.
    #[error("{path} is not private: {why}; {mend}")]
    NotPrivate {
        /// The directory or file.
        path: String,
        /// What is wrong with it.
        why: String,
        /// What to do.
        mend: String,
    },
    /// The system refused.
    #[error("cannot listen on {place}: {error}")]
    Io {
        /// The address or path.
        place: String,
        /// What the system says.
        error: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Listener {
    /// Listens on a Unix socket, in a directory that only this user can enter. A socket file on
    /// which nothing listens is replaced.
    ///
    /// # Errors
    /// If another server listens there, the directory is not private, or the system refuses.
    pub async fn unix(path: PathBuf) -> Result<Self, ListenError> {
        let (listener, file) = unix::bind(path).await?;
        // Browsers do not reach a Unix socket, and its clients name any host.
        Ok(Self { socket: Socket::Unix(listener, file), names: Names::default(), serves_nodes: false })
    }

    /// Listens on a TCP address. Without `hosts`, the names of the loopback interface are accepted.
    ///
    /// # Errors
    /// If the system refuses, or the certificate cannot be used.
    #[expect(clippy::disallowed_methods, reason = "this crate is the network; no editor has a socket")]
    pub async fn tcp(
        address: SocketAddr,
        certificate: Option<CertificateFiles>,
        proxies: Proxies,
        mut names: Names,
    ) -> Result<Self, ListenError> {
        let refused = |error| ListenError::Io { place: address.to_string(), error };
        let tls = certificate.map(tls::Certificates::read).transpose()?.map(Arc::new);
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let of_loopback = ["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}"));
        names.hosts.get_or_insert_default().extend(of_loopback);
        Ok(Self { socket: Socket::Tcp { listener, tls, proxies }, names, serves_nodes: false })
    }

    /// Listens for other nodes, which must have a certificate of the authority in
    /// `certificate.client_authorities`.
    ///
    /// # Errors
    /// The same as for [`Listener::tcp`]; also if `certificate` names no authority.
    pub async fn nodes(address: SocketAddr, certificate: CertificateFiles) -> Result<Self, ListenError> {
        if certificate.client_authorities.is_none() {
            return Err(TlsError::no_authority(&certificate.certificate).into());
        }
        let listener = Self::tcp(address, Some(certificate), Proxies::default(), Names::default()).await?;
        // Nodes name the address at which they were found, and browsers have no certificate.
        Ok(Self { names: Names::default(), serves_nodes: true, ..listener })
    }

    /// Returns the address that it is bound to, as in `--listen`.
    pub fn place(&self) -> String {
        match &self.socket {
            Socket::Unix(_, file) => format!("unix:{}", file.path().display()),
            Socket::Tcp { listener, .. } => match listener.local_addr() {
                Ok(address) => format!("tcp:{address}"),
                Err(_) => "tcp".to_owned(),
            },
        }
    }
}
