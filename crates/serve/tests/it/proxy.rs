//! A proxy between a client and a server in this process, which breaks its sockets.

use async_trait::async_trait;
use serve::{
    Server,
    auth::Source,
    connect::{Dial, Stream},
};
use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// A direction of the byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

/// What happens to a socket once it has carried a number of bytes in a direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Break {
    pub(crate) direction: Direction,
    pub(crate) bytes: usize,
    /// Whether both sides see that it is closed; else it carries nothing more.
    pub(crate) closes: bool,
}

/// Returns how the next socket breaks; `None` if it does not.
type Plan = Box<dyn FnMut() -> Option<Break> + Send>;

/// Dials a server in this process over a pipe that breaks as planned.
pub(crate) struct Proxy {
    server: Arc<Server>,
    plan: Mutex<Plan>,
    pub(crate) counts: Arc<Counts>,
}

/// What the proxy did.
#[derive(Default)]
pub(crate) struct Counts {
    to_server: AtomicUsize,
    to_client: AtomicUsize,
    dials: AtomicUsize,
    breaks: AtomicUsize,
}

impl Counts {
    /// Returns the bytes carried in a direction over all sockets.
    pub(crate) fn bytes(&self, direction: Direction) -> usize {
        self.counter(direction).load(Ordering::SeqCst)
    }

    /// Returns how many sockets were opened.
    pub(crate) fn dials(&self) -> usize {
        self.dials.load(Ordering::SeqCst)
    }

    /// Returns how many sockets were broken.
    pub(crate) fn breaks(&self) -> usize {
        self.breaks.load(Ordering::SeqCst)
    }

    fn counter(&self, direction: Direction) -> &AtomicUsize {
        match direction {
            Direction::ToServer => &self.to_server,
            Direction::ToClient => &self.to_client,
        }
    }
}

impl Proxy {
    /// Creates a proxy before a server. `plan` is called for each socket.
    pub(crate) fn new(
        server: Arc<Server>,
        plan: impl FnMut() -> Option<Break> + Send + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { server, plan: Mutex::new(Box::new(plan)), counts: Arc::default() })
    }
}

#[async_trait]
impl Dial for Proxy {
    async fn dial(&self) -> io::Result<Box<dyn Stream>> {
        let (ours, client) = tokio::io::duplex(64 * 1024);
        let (server, theirs) = tokio::io::duplex(64 * 1024);
        self.server.serve_socket(theirs, Source::Unix(0));
        self.counts.dials.fetch_add(1, Ordering::SeqCst);
        let planned = (self.plan.lock().unwrap())();
        tokio::spawn(carry(client, server, planned, self.counts.clone()));
        Ok(Box::new(ours))
    }
}

/// Carries bytes in both directions until one side closes or the socket breaks.
async fn carry(
    client: impl AsyncRead + AsyncWrite,
    server: impl AsyncRead + AsyncWrite,
    planned: Option<Break>,
    counts: Arc<Counts>,
) {
    let (from_client, to_client) = tokio::io::split(client);
    let (from_server, to_server) = tokio::io::split(server);
    let limit = |direction| {
        planned.filter(|planned| planned.direction == direction).map_or(usize::MAX, |planned| planned.bytes)
    };
    let up = copy(from_client, to_server, limit(Direction::ToServer), counts.counter(Direction::ToServer));
    let down = copy(from_server, to_client, limit(Direction::ToClient), counts.counter(Direction::ToClient));
    let breaks = {
        let (mut up, mut down) = (std::pin::pin!(up), std::pin::pin!(down));
        tokio::select! {
            breaks = &mut up => breaks || down.await,
            breaks = &mut down => breaks || up.await,
        }
    };
    if breaks {
        counts.breaks.fetch_add(1, Ordering::SeqCst);
        if planned.is_some_and(|planned| !planned.closes) {
            std::future::pending::<()>().await;
        }
    }
}

/// Copies at most `limit` bytes. Returns whether the limit ended it.
async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    limit: usize,
    count: &AtomicUsize,
) -> bool {
    let mut left = limit;
    let mut buffer = [0; 4096];
    while left > 0 {
        let most = left.min(buffer.len());
        let Ok(bytes @ 1..) = from.read(&mut buffer[..most]).await else {
            let _ = to.shutdown().await;
            return false;
        };
        if to.write_all(&buffer[..bytes]).await.is_err() {
            return false;
        }
        left -= bytes;
        count.fetch_add(bytes, Ordering::SeqCst);
    }
    true
}
