//! The way out of this dialect: lines in their order, and how many bytes of them wait.

use crate::transport::{Gauge, LineSink};
use futures::SinkExt;
use std::{io, sync::Arc};
use tokio::sync::mpsc;

/// Takes lines without ever blocking who says them.
#[derive(Clone)]
pub(super) struct Out {
    lines: mpsc::UnboundedSender<String>,
    gauge: Arc<Gauge>,
}

/// A way out, and the task that moves its lines into `sink` as the client reads them: run it until
/// it ends, which it does when every clone of the way out is dropped, or at the first failure.
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
    /// Says a line; a client that has gone hears nothing.
    pub(super) fn send(&self, line: String) {
        self.gauge.add(line.len());
        let _ = self.lines.send(line);
    }

    /// Completes when the client has room for more.
    pub(super) async fn room(&self) {
        self.gauge.room().await;
    }
}
