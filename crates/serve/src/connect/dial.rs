//! Opens sockets to a server.

use async_trait::async_trait;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use std::{io, path::PathBuf, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::TlsConnector;

/// A socket.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Opens sockets to a server.
#[async_trait]
pub trait Dial: Send + Sync {
    /// Opens a socket.
    async fn dial(&self) -> io::Result<Box<dyn Stream>>;
}

/// Dials a Unix socket.
#[derive(Debug, Clone)]
pub struct DialUnix(pub PathBuf);

#[async_trait]
impl Dial for DialUnix {
    #[expect(clippy::disallowed_methods, reason = "this crate is the network; no editor has a socket")]
    async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(UnixStream::connect(&self.0).await?))
    }
}

/// Dials a TCP port, with TLS if a configuration is given.
#[derive(Clone)]
pub struct DialTcp {
    /// The host name or address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// How to verify the server.
    pub tls: Option<Arc<ClientConfig>>,
}

#[async_trait]
impl Dial for DialTcp {
    #[expect(clippy::disallowed_methods, reason = "this crate is the network; no editor has a socket")]
    async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        let host = self.host.trim_matches(['[', ']']);
        let stream = TcpStream::connect((host, self.port)).await?;
        crate::listen::tune(&stream);
        let Some(config) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(Box::new(TlsConnector::from(config.clone()).connect(name, stream).await?))
    }
}
