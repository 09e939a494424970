//! SIGINT and SIGTERM as something to wait for.

use crate::exit;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both signals. From the first [`Signals::new`] on they no longer end the process by themselves.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Takes the signals over.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The next signal, as the code the process then ends with. Cancel-safe.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => exit::INTERRUPTED,
            _ = self.terminate.recv() => exit::TERMINATED,
        }
    }
}
