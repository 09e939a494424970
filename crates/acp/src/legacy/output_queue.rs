//! The output queue of this dialect: lines in order, and the number of bytes queued.

use crate::transport::{Backpressure, LineSink};
use futures::SinkExt;
use std::{io, sync::Arc};
use tokio::sync::mpsc;

/// Queues lines without blocking the sender.
#[derive(Clone)]
pub(super) struct OutputQueue {
    lines: mpsc::UnboundedSender<String>,
    backpressure: Arc<Backpressure>,
}

/// Returns an output queue and the task that moves its lines into `sink` as the client reads them.
/// The task completes when every clone of the queue is dropped, or at the first failure.
pub(super) fn output_queue(
    mut sink: LineSink,
) -> (OutputQueue, impl Future<Output = io::Result<()>> + Send + 'static) {
    let (lines, mut waiting) = mpsc::unbounded_channel::<String>();
    let backpressure = Arc::new(Backpressure::default());
    let out = OutputQueue { lines, backpressure: backpressure.clone() };
    let write = async move {
        let written = async {
            while let Some(line) = waiting.recv().await {
                let bytes = line.len();
                sink.send(line).await?;
                backpressure.remove(bytes);
            }
            sink.close().await
        };
        let written = written.await;
        backpressure.close();
        written
    };
    (out, write)
}

impl OutputQueue {
    /// Queues a line; does nothing if the client has disconnected.
    pub(super) fn send(&self, line: String) {
        self.backpressure.add(line.len());
        let _ = self.lines.send(line);
    }

    /// Completes when the client has room for more.
    pub(super) async fn room(&self) {
        self.backpressure.room().await;
    }
}
