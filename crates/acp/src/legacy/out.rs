//! The output queue of this dialect: lines in order, and the number of bytes queued.

use crate::transport::{Gauge, LineSink};
use futures::SinkExt;
use std::{io, sync::Arc};
use tokio::sync::mpsc;

/// Queues lines without blocking the sender.
#[derive(Clone)]
pub(super) struct Out {
    lines: mpsc::UnboundedSender<String>,
    gauge: Arc<Gauge>,
}

/// Returns an output queue and the task that moves its lines into `sink` as the client reads them.
/// The task completes when every clone of the queue is dropped, or at the first failure.
pub(super) fn way_out(mut sink: LineSink) -> (Out, impl Future<Output = io::Result<()>> + Send + 'static) {
    let (lines, mut waiting) = mpsc::unbounded_channel::<String>();
    let gauge = Arc::new(Gauge::default());
    let out = Out { lines, gauge: gauge.clone() };
    let write = async move {
        let written = async {
            while let Some(line) = waiting.recv().await {
                let bytes = line.len();
                sink.send(line).await?;
                gauge.remove(bytes);
            }
            sink.close().await
        };
        let written = written.await;
        gauge.close();
        written
    };
    (out, write)
}

impl Out {
    /// Queues a line; does nothing if the client has disconnected.
    pub(super) fn send(&self, line: String) {
        self.gauge.add(line.len());
        let _ = self.lines.send(line);
    }

    /// Completes when the client has room for more.
    pub(super) async fn room(&self) {
        self.gauge.room().await;
    }
}
