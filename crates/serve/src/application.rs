//! What the network carries: a program that speaks a protocol of lines over a pair of byte streams.

use crate::auth::Source;
use agent::Principal;
use async_trait::async_trait;
use std::sync::Arc;
use tokio::{io::DuplexStream, sync::watch};

/// A program that serves connections. The same program serves stdin and stdout.
#[async_trait]
pub trait Application: Send + Sync {
    /// Serves a connection until its reader ends, or by itself.
    async fn serve(&self, connection: Carried);
}

/// A connection as the application sees it. It outlives the sockets that carry it.
pub struct Carried {
    /// Its id; not a secret.
    pub id: String,
    /// Who opened it.
    pub principal: Principal,
    /// Where its first socket came from.
    pub source: Source,
    /// The client's messages, one a line. It ends when the connection ends, not when a socket does.
    pub reader: DuplexStream,
    /// The messages to the client, one a line.
    pub writer: DuplexStream,
    /// Whether a socket is there.
    pub presence: watch::Receiver<Presence>,
    /// Must be called with the bytes that wait for the client whenever they grow.
    pub waiting: Arc<dyn Fn(usize) + Send + Sync>,
}

/// Whether a connection has a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It has one.
    Attached,
    /// It has none, and lives on for a while.
    Detached,
    /// It has ended for this reason.
    Ended(EndReason),
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// The client has finished: it said so, or closed its WebSocket with code 1000.
    Finished,
    /// The client deleted it.
    Deleted,
    /// No socket came back in time.
    Expired,
    /// More messages waited for it than are kept.
    Gap,
    /// The client read too slowly.
    SlowReader,
    /// Its credential was revoked or has expired.
    Revoked,
    /// The server stops.
    Stopping,
    /// The application ended it.
    Application,
}
