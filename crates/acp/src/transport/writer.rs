//! The outgoing side: writes lines, in batches of all that are queued.

use super::Backpressure;
use crate::{
    limits::{WRITE_BATCH_BYTES, WRITER_LINES},
    native::Prefix,
};
use futures::Sink;
use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    sync::mpsc,
};
use tokio_util::sync::PollSender;

/// The sink for the SDK's lines. Applies back-pressure when the writer lags.
pub(crate) struct LineSink(PollSender<String>);

/// Returns a sink for lines and the task that writes them.
///
/// The task completes when the sink is closed or dropped and all lines are written, or at the first
/// failed write; then the sink fails too, which ends the connection.
pub(crate) fn write_lines(
    mut writer: impl AsyncWrite + Send + Unpin + 'static,
    backpressure: Arc<Backpressure>,
) -> (LineSink, impl Future<Output = io::Result<()>> + Send + 'static) {
    let (sender, mut lines) = mpsc::channel::<String>(WRITER_LINES);
    let closing = Closing(backpressure.clone());
    let run = async move {
        let _closing = closing;
        let mut bytes = Vec::new();
        while let Some(line) = lines.recv().await {
            bytes.clear();
            let mut updates = append(&mut bytes, &line);
            while bytes.len() < WRITE_BATCH_BYTES {
                let Ok(line) = lines.try_recv() else { break };
                updates += append(&mut bytes, &line);
            }
            writer.write_all(&bytes).await?;
            writer.flush().await?;
            backpressure.count_written(updates);
            bytes.shrink_to(WRITE_BATCH_BYTES);
        }
        writer.shutdown().await
    };
    (LineSink(PollSender::new(sender)), run)
}

/// Closes the gauge when the writer ends for any reason.
struct Closing(Arc<Backpressure>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Appends a line and its line ending; returns 1 if it is a session update, else 0.
fn append(bytes: &mut Vec<u8>, line: &str) -> u64 {
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    u64::from(is_update(line))
}

/// Returns whether a line written by the SDK is a session update or a native event. The SDK writes
/// the members in a fixed order.
fn is_update(line: &str) -> bool {
    let Some(method) = line.strip_prefix(r#"{"jsonrpc":"2.0","method":""#) else { return false };
    method.starts_with(r#"session/update""#)
        || Prefix::ALL.iter().any(|prefix| method.starts_with(prefix.text()))
}

impl Sink<String> for LineSink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(ready!(self.0.poll_reserve(cx)).map_err(|_closed| closed()))
    }

    fn start_send(mut self: Pin<&mut Self>, line: String) -> io::Result<()> {
        self.0.send_item(line).map_err(|_closed| closed())
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.close();
        Poll::Ready(Ok(()))
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client no longer reads")
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::RawJsonRpcMessage;
    use futures::SinkExt;
    use tokio::io::AsyncReadExt;

    const UPDATE: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{}}"#;

    #[tokio::test]
    async fn writes_lines_in_order_and_counts_updates() {
        let (writer, mut reader) = tokio::io::duplex(1024);
        let backpressure = Arc::new(Backpressure::default());
        let (mut sink, run) = write_lines(writer, backpressure.clone());
        backpressure.count_sent(7);
        for line in ["one", UPDATE, "two"] {
            sink.send(line.to_owned()).await.unwrap();
        }
        assert_eq!(backpressure.in_flight(), 1);
        sink.close().await.unwrap();
        run.await.unwrap();
        assert_eq!(backpressure.in_flight(), 0);
        let mut text = String::new();
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, format!("one\n{UPDATE}\ntwo\n"));
    }

    #[test]
    fn recognises_updates_as_the_sdk_serialises_them() {
        let line = |method: &str| {
            let message =
                RawJsonRpcMessage::notification(method.to_owned(), serde_json::json!({"sessionId": "s"}));
            serde_json::to_string(&message.unwrap()).unwrap()
        };
        assert!(is_update(&line("session/update")), "{}", line("session/update"));
        assert!(!is_update(&line("session/updates")));
        assert!(is_update(&line("kosmokrator/text_delta")) && is_update(&line("_tiller/error")));
    }

    #[tokio::test]
    async fn a_closed_output_fails_the_sink() {
        let (writer, reader) = tokio::io::duplex(16);
        let (mut sink, run) = write_lines(writer, Arc::default());
        drop(reader);
        let run = tokio::spawn(run);
        sink.send("x".repeat(100)).await.unwrap();
        assert!(run.await.unwrap().is_err());
        assert_eq!(sink.send("y".to_owned()).await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
