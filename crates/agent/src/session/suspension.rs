//! The wish to end a session here so that another process goes on with it.

use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// Whether a session is to be suspended: its turn stops before its next request to a model, and its
/// next owner goes on with it. Never taken back.
#[derive(Debug, Default)]
pub(crate) struct Suspension {
    asked: CancellationToken,
    cut: AtomicBool,
}

impl Suspension {
    /// Asks the turn to stop before its next request.
    pub(crate) fn ask(&self) {
        self.asked.cancel();
    }

    /// Whether the turn was asked to stop.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.is_cancelled()
    }

    /// Completes once the turn was asked to stop.
    pub(crate) async fn asked(&self) {
        self.asked.cancelled().await;
    }

    /// Notes that the turn is cancelled because it did not stop in time.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::Release);
    }

    /// Whether a cancelled turn was cancelled because it did not stop in time.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }
}
