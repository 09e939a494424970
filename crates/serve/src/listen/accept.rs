//! Accepts sockets and serves HTTP on them.

use super::{Listener, tcp, unix};
use crate::{
    auth::Source,
    http::{Arrival, HeldSocket, Site, router},
    limits::{CLOSE_WAIT, HEADER_BYTES, HEADERS_WAIT, UNAUTHENTICATED_SOCKETS},
    listen::Socket,
};
use axum::{Router, extract::Request};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt as _;

/// Accepts sockets of one or several listeners.
pub(crate) struct Acceptor {
    pub(crate) sockets: Arc<Semaphore>,
    /// Users of this machine other than ours that may connect to the Unix socket.
    pub(crate) unix_users: Vec<u32>,
    /// The sockets of each address on which no request was authenticated.
    unauthenticated: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
    /// Cancelled when no further sockets are accepted and open ones end.
    pub(crate) closing: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

impl Acceptor {
    /// Creates an acceptor of at most `sockets` sockets at a time.
    pub(crate) fn new(sockets: usize, unix_users: Vec<u32>, closing: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            sockets: Arc::new(Semaphore::new(sockets)),
            unix_users,
            unauthenticated: Mutex::default(),
            closing,
            tasks: TaskTracker::new(),
        })
    }

    /// Accepts sockets until the server closes.
    pub(crate) async fn accept(self: Arc<Self>, listener: Listener, site: Site) {
        let from_node = listener.serves_nodes;
        let site = Site { names: Arc::new(listener.names), ..site };
        let closing = self.closing.clone();
        let accepting = async {
            match listener.socket {
                Socket::Unix(listener, _file) => loop {
                    let Some((stream, _)) = accepted(listener.accept().await).await else { continue };
                    let Ok(permit) = self.sockets.clone().try_acquire_owned() else { continue };
                    let Some(source) = self.admit_unix(&stream) else { continue };
                    let arrival = Arrival::new(source, None, false);
                    self.spawn(stream, arrival, router(site.clone()), permit);
                },
                Socket::Tcp { listener, tls, proxies } => {
                    if let Some(certificates) = tls.clone() {
                        let closing = self.closing.clone();
                        self.tasks.spawn(async move {
                            let _ = closing.run_until_cancelled(certificates.follow()).await;
                        });
                    }
                    let proxies = Arc::new(proxies);
                    loop {
                        let Some((stream, peer)) = accepted(listener.accept().await).await else { continue };
                        let Ok(permit) = self.sockets.clone().try_acquire_owned() else { continue };
                        let peer = peer.ip().to_canonical();
                        let reserved = match proxies.has(peer) {
                            true => None,
                            false => match self.reserve(peer) {
                                Some(reserved) => Some(reserved),
                                None => continue,
                            },
                        };
                        tcp::tune(&stream);
                        let arrival = Arrival {
                            proxies: proxies.clone(),
                            from_node,
                            ..Arrival::new(Source::Address(peer), reserved, tls.is_some())
                        };
                        match &tls {
                            None => self.spawn(stream, arrival, router(site.clone()), permit),
                            Some(certificates) => {
                                let accept = certificates.acceptor().accept(stream);
                                let (acceptor, routes) = (self.clone(), router(site.clone()));
                                self.tasks.spawn(async move {
                                    match timeout(HEADERS_WAIT, accept).await {
                                        Ok(Ok(stream)) => {
                                            acceptor.serve(stream, arrival, routes, Some(permit)).await
                                        }
                                        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                                        Err(_elapsed) => tracing::debug!("a TLS handshake took too long"),
                                    }
                                });
                            }
                        }
                    }
                }
            }
        };
        closing.run_until_cancelled(accepting).await;
    }

    /// Waits until open sockets have ended, for a limited time.
    pub(crate) async fn settle(&self) {
        self.tasks.close();
        let _ = timeout(CLOSE_WAIT, self.tasks.wait()).await;
    }

    fn admit_unix(&self, stream: &tokio::net::UnixStream) -> Option<Source> {
        let uid = unix::peer_uid(stream)
            .inspect_err(|error| tracing::warn!(%error, "a peer has no user id"))
            .ok()?;
        if uid == rustix::process::geteuid().as_raw() || self.unix_users.contains(&uid) {
            return Some(Source::Unix(uid));
        }
        tracing::warn!(uid, "a connection of another user was refused; see serve.unix_users");
        None
    }

    /// Reserves one of the sockets that an address may have before a request is authenticated.
    fn reserve(&self, address: IpAddr) -> Option<OwnedSemaphorePermit> {
        let mut sources = self.unauthenticated.lock().unwrap_or_else(PoisonError::into_inner);
        if sources.len() >= self.sockets.available_permits().max(1024) {
            sources.retain(|_, semaphore| semaphore.available_permits() < UNAUTHENTICATED_SOCKETS);
        }
        let semaphore = sources
            .entry(Source::Address(address).counted().unwrap_or(address))
            .or_insert_with(|| Arc::new(Semaphore::new(UNAUTHENTICATED_SOCKETS)));
        semaphore.clone().try_acquire_owned().ok()
    }

    fn spawn(
        self: &Arc<Self>,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        arrival: Arrival,
        routes: Router,
        permit: OwnedSemaphorePermit,
    ) {
        let acceptor = self.clone();
        self.tasks.spawn(async move { acceptor.serve(stream, arrival, routes, Some(permit)).await });
    }

    /// Serves HTTP on a socket until it ends.
    pub(crate) async fn serve(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        arrival: Arrival,
        routes: Router,
        permit: Option<OwnedSemaphorePermit>,
    ) {
        // A WebSocket outlives the HTTP connection that it began with.
        let held = permit.map(HeldSocket::new);
        let service = TowerToHyperService::new(tower::service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(axum::body::Body::new);
            let arrival = arrival.for_request(request.headers());
            request.extensions_mut().insert(arrival);
            if let Some(held) = held.clone() {
                request.extensions_mut().insert(held);
            }
            routes.clone().oneshot(request)
        }));
        let mut builder = Builder::new(TokioExecutor::new());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS_WAIT)
            .max_buf_size(HEADER_BYTES)
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(Some(Duration::from_secs(20)))
            .max_header_list_size(HEADER_BYTES as u32)
            .enable_connect_protocol();
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.closing.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a socket ended");
        }
    }
}

/// Returns an accepted socket. After a failure, for example for want of descriptors, it waits.
async fn accepted<T>(accepted: io::Result<T>) -> Option<T> {
    match accepted {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            tracing::warn!(%error, "a socket could not be accepted");
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}
