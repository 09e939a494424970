//! SIGINT, SIGTERM and SIGHUP as something to wait for.

use crate::exit;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask for an end. From the first [`Signals::new`] on they no longer end the
/// process by themselves.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None where whoever started the process wants it to outlive its terminal.
    hang_up: Option<Signal>,
}

impl Signals {
    /// Takes the signals over.
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: if ignores_hang_ups() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// The next signal, as the code the process then ends with. Cancel-safe.
    pub(crate) async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => exit::INTERRUPTED,
            _ = self.terminate.recv() => exit::TERMINATED,
            () = received(self.hang_up.as_mut()) => exit::HUNG_UP,
        }
    }
}

async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether SIGHUP was ignored when the process was started, as `nohup` does it.
#[expect(clippy::disallowed_methods, reason = "the kernel's word about this process is in no editor")]
fn ignores_hang_ups() -> bool {
    // Where there is no such file nobody can tell.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    is_ignored(&status, SignalKind::hangup())
}

fn is_ignored(status: &str, signal: SignalKind) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    let bit = u32::try_from(signal.as_raw_value() - 1).ok().and_then(|bit| 1_u64.checked_shl(bit));
    bit.is_some_and(|bit| mask & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_was_ignored_is_seen_in_the_mask() {
        for (status, ignored) in [
            ("Name:\ttiller\nSigIgn:\t0000000000000001\nSigCgt:\t00", true),
            ("SigIgn:\t0000000000001000\n", false),
            ("SigIgn:\tnonsense\n", false),
            ("", false),
        ] {
            assert_eq!(is_ignored(status, SignalKind::hangup()), ignored, "{status:?}");
        }
    }
}
