//! The client's side of the WebSocket: lines on one side, a connection that survives its sockets on
//! the other. `tiller connect` runs it for editors that only start processes.

mod dial;
mod link;
mod recall;
mod shown;
mod splice;
mod target;

pub use dial::{Dial, DialTcp, DialUnix, Stream};
pub use target::{BadTarget, Target};

use crate::limits::{HOP_RETRY_MOST, RETRY_FIRST, RETRY_MOST};
use axum::http::HeaderValue;
use link::{Link, SocketEnd};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Instant,
};

/// How to reach a server.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Opens a socket to it.
    pub dial: Arc<dyn Dial>,
    /// The value of the `Host` header.
    pub host: String,
    /// The path of the protocol.
    pub path: String,
    /// Returns the value of the `Authorization` header; called for each socket, since the token may
    /// change. `None` sends none.
    pub authorization: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// How long to try to connect again before giving up.
    pub give_up: Duration,
}

/// Why a connection ended, other than by the end of the input.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The server could not be reached for too long.
    #[error("the server was not reachable for {} s: {last}", waited.as_secs())]
    Unreachable {
        /// How long it was tried.
        waited: Duration,
        /// The last failure.
        last: String,
    },
    /// The server refused, and trying again does not help.
    #[error("the server refused the connection: {0}")]
    Refused(String),
    /// What was read or written failed.
    #[error("the client's side failed: {0}")]
    Io(#[from] std::io::Error),
}

/// Carries lines between a client and a server, over as many sockets as it takes. Where the server
/// has lost the connection, its sessions are opened again on a new one. Completes when
/// `reader` ends and the server has answered, or the server ends the connection.
///
/// # Errors
/// If the server cannot be reached for too long, or refuses.
pub async fn connect(
    options: ConnectOptions,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ConnectError> {
    carry(options, Link::new(reader, writer), RETRY_MOST).await
}

/// Like [`connect`], for a node that forwards a client's session: `header` names the user. When the
/// node at the other end refuses because the session is elsewhere, and `moves` returns true, the
/// session is looked for again.
pub(crate) async fn connect_hop(
    options: ConnectOptions,
    header: HeaderValue,
    moves: Box<dyn Fn() -> bool + Send + Sync>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ConnectError> {
    carry(options, Link::new(reader, writer).of_hop(header, moves), HOP_RETRY_MOST).await
}

async fn carry(options: ConnectOptions, mut link: Link, retry_most: Duration) -> Result<(), ConnectError> {
    let mut failing: Option<(Instant, Duration)> = None;
    loop {
        let end = link.socket(&options).await;
        let last = match end {
            SocketEnd::Finished => return Ok(()),
            SocketEnd::Refused(why) => return Err(ConnectError::Refused(why)),
            // It was closed at the end of the input, and only the last messages were lost.
            SocketEnd::Gone(_) if link.is_over() && !link.abandon().await? => return Ok(()),
            SocketEnd::Gone(why) => {
                tracing::info!(%why, "the server no longer has the connection; its sessions are opened again");
                link.restore().await?;
                why
            }
            SocketEnd::Io(error) => return Err(error.into()),
            SocketEnd::Dropped { worked, why } => {
                if worked {
                    failing = None;
                }
                why
            }
        };
        let (since, pause) = *failing.get_or_insert((Instant::now(), RETRY_FIRST));
        let waited = since.elapsed();
        if waited >= options.give_up {
            return Err(ConnectError::Unreachable { waited, last });
        }
        tracing::debug!(%last, ?pause, "the socket ended; connecting again");
        tokio::time::sleep(jittered(pause)).await;
        failing = Some((since, (pause * 2).min(retry_most)));
    }
}

/// Returns a random duration between half of one and the whole of it, so that the clients of a
/// server that restarts do not all return at once.
fn jittered(pause: Duration) -> Duration {
    let mut random = [0; 1];
    // Without random bytes the pause is its whole.
    let part = getrandom::fill(&mut random).map_or(1.0, |()| f64::from(random[0]) / 255.0);
    pause.mul_f64(0.5 + part / 2.0)
}
