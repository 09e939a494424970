//! The far end of a connection: the decision, the connection to the host, and copying.

use crate::counted::Counted;
use crate::dial::{self, Dialer};
use crate::limits::{COPY_BYTES, HEAD_BYTES, IDLE_WAIT};
use agent::{ConnectionJudge, Destination};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional_with_sizes};
use tokio::net::TcpStream;

/// A connection that is refused: what the command receives, and what its result says.
pub(crate) struct Refused {
    pub(crate) reason: String,
    /// The bytes by which the command learns of it.
    pub(crate) answer: Vec<u8>,
}

/// Waits for the decision about a destination and connects to it.
pub(crate) async fn connected(
    dialer: &dyn Dialer,
    judge: &Arc<dyn ConnectionJudge>,
    destination: &Destination,
) -> Result<Counted, String> {
    judge.judge(destination).await?;
    dialed(dialer, judge, destination).await
}

/// Connects to a destination that was decided about.
pub(crate) async fn dialed(
    dialer: &dyn Dialer,
    judge: &Arc<dyn ConnectionJudge>,
    destination: &Destination,
) -> Result<Counted, String> {
    let stream = dial::dial(dialer, judge.as_ref(), destination).await?;
    stream.set_nodelay(true).ok();
    Ok(Counted::new(stream, judge.connected(destination)))
}

/// Begins HTTP on a connection to a host, whose bytes are counted. The connection ends with the
/// returned value, or when nothing moves for [`IDLE_WAIT`].
pub(crate) async fn http<B>(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    count: Arc<AtomicU64>,
) -> Result<SendRequest<B>, String>
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    let (sender, connection) = hyper::client::conn::http1::Builder::new()
        .preserve_header_case(true)
        .max_buf_size(HEAD_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = connection => {}
            () = idle(&count) => {}
        }
    });
    Ok(sender)
}

/// Sends a request once the connection is ready for it.
pub(crate) async fn send<B: Body + 'static>(
    sender: &mut SendRequest<B>,
    request: Request<B>,
) -> Result<Response<Incoming>, hyper::Error> {
    sender.ready().await?;
    sender.send_request(request).await
}

/// Copies in both directions until both ends are done or nothing moves for [`IDLE_WAIT`].
pub(crate) async fn copy(stream: &mut TcpStream, mut host: Counted) {
    let count = host.count();
    tokio::select! {
        _ = copy_bidirectional_with_sizes(stream, &mut host, COPY_BYTES, COPY_BYTES) => {}
        () = idle(&count) => {}
    }
}

/// Returns when a count has not changed for [`IDLE_WAIT`].
pub(crate) async fn idle(count: &AtomicU64) {
    let mut ticks = tokio::time::interval(IDLE_WAIT);
    ticks.tick().await;
    let mut before = None;
    loop {
        let now = count.load(Ordering::Relaxed);
        if before == Some(now) {
            return;
        }
        before = Some(now);
        ticks.tick().await;
    }
}
