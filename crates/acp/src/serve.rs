//! One connection, from its first byte to its last.

use crate::{
    AcpOptions, Protocol,
    connections::Connections,
    legacy,
    limits::{LAST_WRITES, SETTLE},
    transport::{Gauge, incoming, write_lines},
};
use agent::Runtime;
use agent_client_protocol::Lines;
use futures::StreamExt;
use std::sync::Arc;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
    time::timeout,
};

/// Why a connection ended other than by the client closing it.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The protocol library gave up, or the client stopped reading for good.
    #[error("the connection to the client failed: {0}")]
    Connection(String),
}

/// Serves a client until it closes its side, which cancels its turns; returns once they have settled and all is written, at the latest
/// a second later. What the client says first decides between the protocol and the older dialect, unless the options leave no choice. Sessions stay stored. Needs a tokio runtime with time; a current-thread one is enough.
///
/// # Errors
/// When the client stops reading, or the protocol library fails.
pub async fn serve(
    runtime: Arc<Runtime>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    options: AcpOptions,
) -> Result<(), ServeError> {
    let gauge = Arc::new(Gauge::default());
    let frame_cap = options.frame_cap;
    let protocol = options.protocol;
    let older = (runtime.clone(), options.clone());
    let connection = Connections::new(runtime, options, gauge.clone());
    let (ended, end) = oneshot::channel();
    let leaving = connection.clone();
    let lines = incoming(reader, frame_cap, move || {
        // First of all: what runs must not take the client's silence for an answer and go on.
        leaving.cancel();
        // Nobody waits any more when the connection ended first.
        let _ = ended.send(());
    });
    let (sink, write) = write_lines(writer, gauge);
    let mut writing = tokio::spawn(write);
    let mut lines = Box::pin(lines.peekable());
    if protocol == Protocol::Auto
        && let Some(Ok(first)) = lines.as_mut().peek().await
        && legacy::speaks(first)
    {
        let served = legacy::serve(older.0, older.1, lines, sink).await;
        if timeout(LAST_WRITES, &mut writing).await.is_err() {
            writing.abort();
        }
        return served;
    }
    let served = connection.serve(protocol, Lines::new(sink, lines));
    let result = tokio::select! {
        served = served => {
            // After a failed connection turns still run; after a closed one nothing is left and this returns at once.
            if timeout(SETTLE, connection.settle()).await.is_err() {
                tracing::warn!("turns did not settle in time");
            }
            served.map_err(|error| ServeError::Connection(error.to_string()))
        }
        () = after_end(end) => {
            tracing::warn!("the client is gone and turns did not settle in time");
            Ok(())
        }
    };
    if timeout(LAST_WRITES, &mut writing).await.is_err() {
        tracing::warn!("the client does not read; what was left to say is lost");
        writing.abort();
    }
    result
}

/// Completes when everything should long have settled after the end of the input.
async fn after_end(end: oneshot::Receiver<()>) {
    match end.await {
        Ok(()) => tokio::time::sleep(SETTLE).await,
        Err(_never_ended) => std::future::pending().await,
    }
}
