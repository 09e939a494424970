//! Serves one connection from its first byte to its last.

use crate::v2::V2;
use crate::{
    AcpOptions, Protocol,
    connection::{AnyConnection, Connection, Dispatcher},
    dialect::Dialect,
    legacy,
    limits::{DIALECT_WAIT, LAST_WRITES, LEGACY_LINGER, SETTLE},
    transport::{Backpressure, Ids, IncomingLine, LineSink, incoming, write_lines},
    v1::V1,
};
use agent::Runtime;
use agent_client_protocol::{Agent, Builder, Lines};
use futures::{SinkExt, Stream, StreamExt, future::BoxFuture, stream};
use std::{io, pin::Pin, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
    time::{error::Elapsed, timeout},
};

/// An error that ended a connection, other than the client closing it.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The SDK failed, or the client does not read any more.
    #[error("the connection to the client failed: {0}")]
    Connection(String),
}

/// Serves a client until it closes its side or is known to have stopped reading
/// ([`AcpOptions::output_closed`], or a failed write).
///
/// Either cancels the client's turns; the future completes once they have settled and all output is
/// written, at most one second later. The client's first message selects the protocol or the older
/// dialect, unless the options fix the version. In the older dialect, running work completes first,
/// as long as the client reads. Sessions remain stored. Needs a tokio runtime with time enabled; a
/// current-thread runtime is enough.
///
/// # Errors
/// When the client stops reading, or the SDK fails.
pub fn serve(
    runtime: Arc<Runtime>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    options: AcpOptions,
) -> BoxFuture<'static, Result<(), ServeError>> {
    serve_streams(runtime, Box::new(reader), Box::new(writer), options)
}

/// Serves a connection over boxed streams, so that this code is compiled once, here, and not once
/// per stream type in each calling crate.
fn serve_streams(
    runtime: Arc<Runtime>,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    options: AcpOptions,
) -> BoxFuture<'static, Result<(), ServeError>> {
    Box::pin(async move {
        let backpressure = Arc::new(Backpressure::over(options.link.clone()));
        let ids = Arc::new(Ids::default());
        let (mut sink, write) = write_lines(writer, backpressure.clone());
        let closed = options.output_closed.child_token();
        let mut writing = {
            let closed = closed.clone();
            tokio::spawn(async move {
                let written = write.await;
                closed.cancel();
                written
            })
        };
        // A client that no longer reads receives no responses, so its remaining input is not
        // processed.
        let lines = incoming(reader, options.bounds.line_bytes).take_until(closed.clone().cancelled_owned());
        let lines = Box::pin(lines);
        let (dialect, lines) = detect_dialect(options.protocol, lines, &mut sink).await;
        let served = match dialect {
            Dialect::V1 => {
                let connection = Connection::<V1>::new(runtime, options, backpressure, ids.clone());
                serve_protocol(connection, lines, sink, ids).await
            }
            Dialect::V2 => {
                let connection = Connection::<V2>::new(runtime, options, backpressure, ids.clone());
                serve_protocol(connection, lines, sink, ids).await
            }
            Dialect::Legacy => {
                legacy::serve(runtime, options, lines, sink, closed.clone()).await;
                // Give a slow reader time to receive everything.
                let _ = timeout(LEGACY_LINGER, closed.cancelled()).await;
                Ok(())
            }
        };
        if timeout(LAST_WRITES, &mut writing).await.is_err() {
            tracing::warn!("the client does not read; unwritten output is lost");
            writing.abort();
        }
        served
    })
}

type Incoming = Pin<Box<dyn Stream<Item = IncomingLine> + Send>>;

/// Detects the client's dialect from its first message, and returns all lines.
///
/// Lines before it that are not messages do not decide; the server of the dialect answers them. If
/// no message follows within [`DIALECT_WAIT`], they are answered as the protocol requires.
async fn detect_dialect(protocol: Protocol, mut lines: Incoming, sink: &mut LineSink) -> (Dialect, Incoming) {
    let mut before = Vec::new();
    let mut first = None;
    if protocol == Protocol::Auto {
        loop {
            let wait = if before.is_empty() { None } else { Some(DIALECT_WAIT) };
            match next(&mut lines, wait).await {
                Ok(Some(line)) if line.is_message() => {
                    first = Some(line);
                    break;
                }
                Ok(Some(line)) => before.push(line),
                Ok(None) => break,
                Err(_elapsed) => {
                    for line in before.drain(..) {
                        // Sending fails if the client has disconnected.
                        let _ = sink.send(line.refusal()).await;
                    }
                }
            }
        }
    }
    let dialect = Dialect::of(protocol, first.as_ref().map(|line| line.text.as_str()));
    (dialect, Box::pin(stream::iter(before).chain(stream::iter(first)).chain(lines)))
}

async fn next(lines: &mut Incoming, wait: Option<Duration>) -> Result<Option<IncomingLine>, Elapsed> {
    match wait {
        Some(wait) => timeout(wait, lines.next()).await,
        None => Ok(lines.next().await),
    }
}

/// Serves the client in one version of the protocol. The SDK delivers messages undecoded (ADR
/// 0008).
async fn serve_protocol(
    connection: Arc<dyn AnyConnection>,
    lines: Incoming,
    sink: LineSink,
    ids: Arc<Ids>,
) -> Result<(), ServeError> {
    let (sending, taking) = (ids.clone(), ids);
    let sink = sink.with(move |line| std::future::ready(Ok::<_, io::Error>(sending.outgoing(line))));
    let lines = lines
        .filter_map(move |line| std::future::ready(taking.incoming(line.message()).map(Ok::<_, io::Error>)));
    let (ended, end) = oneshot::channel();
    let leaving = connection.clone();
    let last = stream::once(async move {
        // Cancel first: running work must not take the client's silence for an answer and continue.
        leaving.cancel();
        // The receiver is gone if the connection ended first.
        let _ = ended.send(());
    });
    let lines = lines.chain(last.filter_map(async |()| None));
    let closing = connection.clone();
    let agent = Builder::new_with(Agent, Dispatcher(connection.clone())).name("tiller").on_close(
        async move |_client| {
            // In its own task: sessions that a slow store delays are closed even after the caller
            // stopped waiting.
            let settling = tokio::spawn(async move { closing.settle().await });
            if let Err(error) = settling.await {
                tracing::error!(%error, "closing the sessions of a connection failed");
            }
            Ok(())
        },
    );
    tokio::select! {
        served = agent.connect_to(Lines::new(sink, lines)) => {
            // After a failed connection, turns still run; after a closed one nothing is left and
            // this returns immediately.
            if timeout(SETTLE, connection.settle()).await.is_err() {
                tracing::warn!("turns did not settle in time");
            }
            served.map_err(|error| ServeError::Connection(error.to_string()))
        }
        () = settle_timeout(end) => {
            tracing::warn!("the client disconnected and turns did not settle in time");
            Ok(())
        }
    }
}

/// Completes once the time to settle after the end of the input has passed.
async fn settle_timeout(end: oneshot::Receiver<()>) {
    match end.await {
        Ok(()) => tokio::time::sleep(SETTLE).await,
        Err(_never_ended) => std::future::pending().await,
    }
}
