//! SIGINT, SIGTERM, SIGHUP and SIGQUIT, from the first instruction of `main` on.
//!
//! A thread of their own receives them, so they end the process even if the other threads are
//! blocked: on the reader of a pipe, a question on the terminal, a slow disk. The first signal
//! requests an orderly shutdown: tasks that wait for [`next`] end their work. When their time is
//! over, or when a second SIGINT or SIGTERM arrives, the process exits immediately; the kernel then
//! closes our pipes, which ends the child processes. SIGQUIT does that without an orderly shutdown,
//! and the terminal is given back.

use crate::{exit::Exit, limits, streams};
use rustix::process::Signal as Number;
use std::{
    future::pending,
    io,
    sync::{
        LazyLock, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    time::Instant,
};

/// The first signal, as the exit code of the process.
static FIRST: LazyLock<watch::Sender<Option<Exit>>> = LazyLock::new(|| watch::Sender::new(None));

/// Whether the current command has an orderly shutdown, which may take a while.
static HAS_ORDERLY_SHUTDOWN: AtomicBool = AtomicBool::new(false);

/// How long the orderly shutdown of the current command may take at least, in seconds.
static ORDERLY_SECONDS: AtomicU64 = AtomicU64::new(0);

/// The callback that runs before an immediate exit.
static BEFORE_EXIT: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Installs the signal handlers. Signals that were ignored at the start (`nohup`) stay ignored.
///
/// # Errors
/// If the kernel refuses a handler, a descriptor or a thread.
pub(crate) fn take_over() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ignored = ignored();
    let entered = runtime.enter();
    let take = |number: Number| {
        let kind = SignalKind::from_raw(number.as_raw());
        if is_ignored(&ignored, kind) { Ok(None) } else { signal(kind).map(Some) }
    };
    let taken = SignalStreams {
        interrupt: take(Number::INT)?,
        terminate: take(Number::TERM)?,
        hang_up: take(Number::HUP)?,
        quit: take(Number::QUIT)?,
    };
    // A handler that does nothing: a write beyond the limit on file sizes (`RLIMIT_FSIZE`) then
    // fails with an error and does not kill the process. Child processes get the default action
    // again:
    // `exec` resets every handler.
    take(Number::XFSZ)?;
    drop(entered);
    let watch = move || runtime.block_on(watch(taken));
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map(drop)
}

/// Returns the signal that arrived, if any.
pub(crate) fn received() -> Option<Exit> {
    *FIRST.borrow()
}

/// Waits for a signal; returns immediately if one has arrived. Cancel-safe.
pub(crate) async fn next() -> Exit {
    let mut first = FIRST.subscribe();
    match first.wait_for(Option::is_some).await.map(|exit| *exit) {
        Ok(Some(exit)) => exit,
        // The sender lives as long as the process.
        Ok(None) | Err(_) => pending().await,
    }
}

/// Waits for a signal while no command has an orderly shutdown; the caller then drops the command.
pub(crate) async fn next_to_drop() -> Exit {
    let exit = next().await;
    match HAS_ORDERLY_SHUTDOWN.load(Ordering::Relaxed) {
        true => pending().await,
        false => exit,
    }
}

/// Declares that the current command handles a signal itself and ends its work within
/// [`limits::ORDERLY_SHUTDOWN`]. Before this call, a signal drops the command.
pub(crate) fn end_in_order() {
    HAS_ORDERLY_SHUTDOWN.store(true, Ordering::Relaxed);
}

/// Gives the current command more time to end in order.
pub(crate) fn end_in_order_within(time: Duration) {
    ORDERLY_SECONDS.store(time.as_secs(), Ordering::Relaxed);
    end_in_order();
}

/// Sets the callback that runs before an immediate exit, until the guard is dropped. There is one
/// callback at a time.
pub(crate) fn before_exit(work: impl FnOnce() + Send + 'static) -> BeforeExit {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
    BeforeExit
}

/// Removes the callback of [`before_exit`] when dropped.
pub(crate) struct BeforeExit;

impl Drop for BeforeExit {
    fn drop(&mut self) {
        BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// The signals that request an end; `None` for one that is ignored.
struct SignalStreams {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
    quit: Option<Signal>,
}

impl SignalStreams {
    async fn next(&mut self) -> Exit {
        tokio::select! {
            () = received_one(self.interrupt.as_mut()) => Exit::Interrupted,
            () = received_one(self.terminate.as_mut()) => Exit::Terminated,
            () = received_one(self.hang_up.as_mut()) => Exit::HungUp,
            () = received_one(self.quit.as_mut()) => Exit::Quit,
        }
    }

    /// Waits for a signal of an impatient user.
    ///
    /// SIGHUP does not count: the kernel and the shell send it too. Neither does a repetition
    /// within [`limits::SAME_SIGNAL`]: `timeout` signals the process and its group.
    async fn second_signal(&mut self, since: Instant) {
        loop {
            let exit = self.next().await;
            if exit == Exit::Quit {
                return;
            }
            if exit != Exit::HungUp && since.elapsed() >= limits::SAME_SIGNAL {
                return;
            }
        }
    }
}

async fn received_one(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => pending().await,
    }
}

async fn watch(mut taken: SignalStreams) {
    let exit = taken.next().await;
    if exit == Exit::Quit {
        end(exit);
    }
    let since = Instant::now();
    FIRST.send_replace(Some(exit));
    streams::limit_last_writes();
    let most = match HAS_ORDERLY_SHUTDOWN.load(Ordering::Relaxed) {
        true => Duration::from_secs(ORDERLY_SECONDS.load(Ordering::Relaxed)).max(limits::ORDERLY_SHUTDOWN),
        false => limits::IMMEDIATE_SHUTDOWN,
    };
    tokio::select! {
        () = tokio::time::sleep(most) => {}
        () = taken.second_signal(since) => {}
    }
    end(exit)
}

#[expect(clippy::disallowed_methods, reason = "the other threads have had their time")]
fn end(exit: Exit) -> ! {
    let work = BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(work) = work {
        work();
    }
    std::process::exit(exit.code().into())
}

/// Returns the kernel's status of this process, or an empty text where `/proc` is missing.
#[expect(clippy::disallowed_methods, reason = "the kernel's word about this process is in no editor")]
fn ignored() -> String {
    std::fs::read_to_string("/proc/self/status").unwrap_or_default()
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
    fn an_ignored_signal_is_detected_in_the_status_mask() {
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
