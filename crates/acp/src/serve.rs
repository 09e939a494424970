//! One connection, from its first byte to its last.

#[cfg(feature = "v2")]
use crate::v2::V2;
use crate::{
    AcpOptions, Protocol,
    connection::{Connection, Dispatcher, Served},
    dialect::Dialect,
    legacy,
    limits::{DIALECT_WAIT, LAST_WRITES, LEGACY_LINGER, SETTLE},
    transport::{Gauge, Ids, LineSink, Read, incoming, write_lines},
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

/// Why a connection ended other than by the client closing it.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The protocol library gave up, or the client stopped reading for good.
    #[error("the connection to the client failed: {0}")]
    Connection(String),
}

/// Serves a client until it closes its side, or is known to read no more
/// ([`AcpOptions::output_closed`], or a write that fails). Either cancels its turns; returns once
/// they have settled and all is written, at the latest a second later. The client's first message
/// decides between the protocol and the older dialect, unless the options leave no choice; in that
/// dialect running work ends first, as long as the client reads. Sessions stay stored. Needs a
/// tokio runtime with time; a current-thread one is enough.
///
/// # Errors
/// When the client stops reading, or the protocol library fails.
pub fn serve(
    runtime: Arc<Runtime>,
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    options: AcpOptions,
) -> BoxFuture<'static, Result<(), ServeError>> {
    serve_streams(runtime, Box::new(reader), Box::new(writer), options)
}

/// The same for streams of any kind: all of a connection is compiled once, here, and not once more for each kind in the crates that call it.
fn serve_streams(
    runtime: Arc<Runtime>,
    reader: Box<dyn AsyncRead + Send + Unpin>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    options: AcpOptions,
) -> BoxFuture<'static, Result<(), ServeError>> {
    Box::pin(async move {
        let gauge = Arc::new(Gauge::default());
        let ids = Arc::new(Ids::default());
        let (mut sink, write) = write_lines(writer, gauge.clone());
        let closed = options.output_closed.child_token();
        let mut writing = {
            let closed = closed.clone();
            tokio::spawn(async move {
                let written = write.await;
                closed.cancel();
                written
            })
        };
        // A client that reads no more gets no answer: what it still sends is not done.
        let lines = incoming(reader, options.frame_cap).take_until(closed.clone().cancelled_owned());
        let lines = Box::pin(lines);
        let (dialect, lines) = introduction(options.protocol, lines, &mut sink).await;
        let served = match dialect {
            Dialect::First => {
                let connection = Connection::<V1>::new(runtime, options, gauge, ids.clone());
                speak(connection, lines, sink, ids).await
            }
            #[cfg(feature = "v2")]
            Dialect::Second => {
                let connection = Connection::<V2>::new(runtime, options, gauge, ids.clone());
                speak(connection, lines, sink, ids).await
            }
            Dialect::Older => {
                legacy::serve(runtime, options, lines, sink, closed.clone()).await;
                // A client that reads slowly still gets all of it.
                let _ = timeout(LEGACY_LINGER, closed.cancelled()).await;
                Ok(())
            }
        };
        if timeout(LAST_WRITES, &mut writing).await.is_err() {
            tracing::warn!("the client does not read; what was left to say is lost");
            writing.abort();
        }
        served
    })
}

type Incoming = Pin<Box<dyn Stream<Item = Read> + Send>>;

/// The dialect that the client speaks, by the first message that it sends, and all lines. Lines
/// before it that are no message do not decide. They are left to the server of the dialect, unless
/// no message comes for a while: then they are answered as the protocol has it.
async fn introduction(protocol: Protocol, mut lines: Incoming, sink: &mut LineSink) -> (Dialect, Incoming) {
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
                        // A client that has gone hears nothing.
                        let _ = sink.send(line.refusal()).await;
                    }
                }
            }
        }
    }
    let dialect = Dialect::of(protocol, first.as_ref().map(|line| line.text.as_str()));
    (dialect, Box::pin(stream::iter(before).chain(stream::iter(first)).chain(lines)))
}

async fn next(lines: &mut Incoming, wait: Option<Duration>) -> Result<Option<Read>, Elapsed> {
    match wait {
        Some(wait) => timeout(wait, lines.next()).await,
        None => Ok(lines.next().await),
    }
}

/// Serves the client in one version of the protocol. Its messages are taken undecoded (decision 8).
async fn speak(
    connection: Arc<dyn Served>,
    lines: Incoming,
    sink: LineSink,
    ids: Arc<Ids>,
) -> Result<(), ServeError> {
    let (sending, taking) = (ids.clone(), ids);
    let sink = sink.with(move |line| std::future::ready(Ok::<_, io::Error>(sending.outgoing(line))));
    let lines = lines.map(move |line| Ok::<_, io::Error>(taking.incoming(line.message())));
    let (ended, end) = oneshot::channel();
    let leaving = connection.clone();
    let last = stream::once(async move {
        // First of all: what runs must not take the client's silence for an answer and go on.
        leaving.cancel();
        // The receiver is gone when the connection ended first.
        let _ = ended.send(());
    });
    let lines = lines.chain(last.filter_map(async |()| None));
    let closing = connection.clone();
    let agent = Builder::new_with(Agent, Dispatcher(connection.clone())).name("tiller").on_close(
        async move |_client| {
            // In a task of its own: what a slow store holds up is closed even when nobody waits for
            // it any more.
            let settling = tokio::spawn(async move { closing.settle().await });
            if let Err(error) = settling.await {
                tracing::error!(%error, "closing the sessions of a connection failed");
            }
            Ok(())
        },
    );
    tokio::select! {
        served = agent.connect_to(Lines::new(sink, lines)) => {
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
    }
}

/// Completes when everything should long have settled after the end of the input.
async fn after_end(end: oneshot::Receiver<()>) {
    match end.await {
        Ok(()) => tokio::time::sleep(SETTLE).await,
        Err(_never_ended) => std::future::pending().await,
    }
}
