//! A hop: the way from a client's node to the node that holds a session.

use super::{
    directory::{Directory, Holder, NodeAddress, Watched},
    identity::Forwarded,
};
use crate::{
    auth::Source,
    connect::{ConnectError, ConnectOptions, Dial, Stream, connect_hop},
    limits::{HOP_GIVE_UP, PIPE_BYTES},
    listen::{self, CertificateFiles},
};
use agent::Principal;
use async_trait::async_trait;
use rustls_pki_types::ServerName;
use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Serves a socket on which this process is its own client, until it ends.
pub(crate) type Enter = Box<dyn Fn(DuplexStream) + Send + Sync>;

/// What all hops of a node share.
pub(super) struct Hops {
    pub(super) directory: Arc<dyn Directory>,
    /// This node's certificate and key, and the authority of all nodes.
    pub(super) certificate: CertificateFiles,
    pub(super) watched: Watched,
    /// Serves a socket on which this process is its own client.
    pub(super) here: OnceLock<Enter>,
    /// Whether this node takes no sessions any more.
    pub(super) draining: CancellationToken,
}

/// A hop of one client to the node of one session. It follows the session from node to node.
pub(super) struct Hop {
    dial: Arc<HopDial>,
}

impl Hop {
    /// Creates a hop to the node of a session; to the node of a session that does not exist yet.
    pub(super) fn new(
        hops: Arc<Hops>,
        principal: Principal,
        source: Source,
        session: Option<String>,
    ) -> Self {
        let session = Mutex::new(session);
        let forwarded = Forwarded { principal, source };
        Self { dial: Arc::new(HopDial { hops, forwarded, session, is_held: AtomicBool::new(false) }) }
    }

    /// Sets the session, which was created over this hop.
    pub(super) fn set_session(&self, session: &str) {
        *self.dial.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.to_owned());
    }

    /// Carries lines until `reader` ends.
    ///
    /// # Errors
    /// If no node takes the session for too long.
    pub(super) fn carry(
        &self,
        reader: DuplexStream,
        writer: DuplexStream,
    ) -> impl Future<Output = Result<(), ConnectError>> + use<> {
        let options = ConnectOptions {
            dial: self.dial.clone(),
            host: "node".to_owned(),
            path: "/acp".to_owned(),
            authorization: Arc::new(|| None),
            give_up: HOP_GIVE_UP,
        };
        let header = self.dial.forwarded.to_header();
        let dial = self.dial.clone();
        let moves = move || !dial.is_held.load(Ordering::Relaxed);
        connect_hop(options, header, Box::new(moves), reader, writer)
    }
}

struct HopDial {
    hops: Arc<Hops>,
    forwarded: Forwarded,
    session: Mutex<Option<String>>,
    /// Whether a process that serves no nodes holds the session, so that waiting is of no use.
    is_held: AtomicBool,
}

/// Where a session is, or may be.
enum Place {
    Here,
    At(NodeAddress),
}

impl HopDial {
    /// Finds the node of the session. A session that no node holds goes here, or to the node with
    /// the fewest sessions while this one drains.
    async fn place(&self) -> Result<Place, String> {
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let directory = &self.hops.directory;
        let holder = match &session {
            None => Holder::FreeOrHere,
            Some(session) => {
                let Forwarded { principal, source } = &self.forwarded;
                directory.holder(principal, *source, session).await?
            }
        };
        self.is_held.store(matches!(holder, Holder::Unreachable(_)), Ordering::Relaxed);
        match holder {
            Holder::Other(node) | Holder::FreeAt(node) => Ok(Place::At(node)),
            Holder::FreeOrHere | Holder::Unreachable(_) if !self.hops.draining.is_cancelled() => {
                Ok(Place::Here)
            }
            Holder::FreeOrHere | Holder::Unreachable(_) => {
                let next = directory.takers().await?.into_iter().next();
                next.map(Place::At).ok_or_else(|| "this node drains, and there is no other one".to_owned())
            }
        }
    }
}

#[async_trait]
impl Dial for HopDial {
    #[expect(clippy::disallowed_methods, reason = "this crate is the network; no editor has a socket")]
    async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        let node = match self.place().await.map_err(io::Error::other)? {
            Place::At(node) => node,
            Place::Here => {
                let Some(enter) = self.hops.here.get() else {
                    return Err(io::Error::other("this node does not serve yet"));
                };
                let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
                enter(theirs);
                return Ok(Box::new(ours));
            }
        };
        let gone = self.hops.watched.until_gone(&node.id);
        let opening = async {
            let host = node.address.rsplit_once(':').map_or(&*node.address, |(host, _)| host);
            let name =
                ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).map_err(io::Error::other)?;
            let config = listen::node_client(&self.hops.certificate).map_err(io::Error::other)?;
            let stream = TcpStream::connect(&*node.address).await?;
            listen::tune(&stream);
            TlsConnector::from(config).connect(name, stream).await
        };
        let stream = tokio::select! {
            opened = opening => opened?,
            () = gone.cancelled() => return Err(io::Error::other("the node is no longer alive")),
        };
        metrics::counter!("tiller_forwarded_total").increment(1);
        Ok(Box::new(Guarded { stream, gone: Box::pin(gone.cancelled_owned()) }))
    }
}

/// A socket that ends once its peer is no longer alive.
struct Guarded<S> {
    stream: S,
    gone: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.gone.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.gone.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        Poll::Ready(Ok(()))
    }
}
