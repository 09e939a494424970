//! SIGINT, SIGTERM and SIGHUP, from the first instruction of `main` on.
//!
//! A thread of their own takes them, so they end the process whatever the others wait for: the
//! reader of a pipe, a question on the terminal, a slow disk. The first signal asks: tasks that
//! wait for [`next`] end their work in order. Whatever has not ended when its time is over, or when
//! a second SIGINT or SIGTERM comes, is ended there and then; the kernel's closing of our pipes
//! then ends the processes that were started.

use crate::{exit::Exit, limits, streams};
use rustix::process::Signal as Number;
use std::{
    future::pending,
    io,
    sync::{
        LazyLock, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    time::Instant,
};

/// The first signal that came, as what the process ends with.
static FIRST: LazyLock<watch::Sender<Option<Exit>>> = LazyLock::new(|| watch::Sender::new(None));

/// Whether a command ends its work in order, which may take a while.
static IN_ORDER: AtomicBool = AtomicBool::new(false);

/// What is done before the process is ended there and then.
static BEFORE_EXIT: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

/// Takes the signals over. Those that were ignored at the start, as `nohup` does it, stay ignored.
///
/// # Errors
/// When the kernel gives no handlers, no descriptors or no thread.
pub(crate) fn take_over() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ignored = ignored();
    let entered = runtime.enter();
    let take = |number: Number| {
        let kind = SignalKind::from_raw(number.as_raw());
        if is_ignored(&ignored, kind) { Ok(None) } else { signal(kind).map(Some) }
    };
    let taken =
        Taken { interrupt: take(Number::INT)?, terminate: take(Number::TERM)?, hang_up: take(Number::HUP)? };
    // A handler that does nothing: a write beyond a limit on the size of files is an error then,
    // and not our death. Commands that are started have the default again, as with every handler.
    take(Number::XFSZ)?;
    drop(entered);
    let watch = move || runtime.block_on(watch(taken));
    std::thread::Builder::new().name("signals".to_owned()).spawn(watch).map(drop)
}

/// The signal that came, if one has.
pub(crate) fn received() -> Option<Exit> {
    *FIRST.borrow()
}

/// Waits for a signal, or gives the one that has come. Cancel-safe.
pub(crate) async fn next() -> Exit {
    let mut first = FIRST.subscribe();
    match first.wait_for(Option::is_some).await.map(|exit| *exit) {
        Ok(Some(exit)) => exit,
        // The sender lives as long as the process.
        Ok(None) | Err(_) => pending().await,
    }
}

/// Waits for a signal that no command ends its work in order for, so that it is to be dropped.
pub(crate) async fn next_to_drop() -> Exit {
    let exit = next().await;
    match IN_ORDER.load(Ordering::Relaxed) {
        true => pending().await,
        false => exit,
    }
}

/// From now on somebody ends the work in order once a signal has come, within
/// [`limits::IN_ORDER`]. Before, what runs is dropped.
pub(crate) fn end_in_order() {
    IN_ORDER.store(true, Ordering::Relaxed);
}

/// Has this done when the process is ended there and then, until the guard is dropped. There is one
/// at a time.
pub(crate) fn before_exit(work: impl FnOnce() + Send + 'static) -> BeforeExit {
    *BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(work));
    BeforeExit
}

/// Dropping it takes back what [`before_exit`] was given.
pub(crate) struct BeforeExit;

impl Drop for BeforeExit {
    fn drop(&mut self) {
        BEFORE_EXIT.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// The signals that ask for an end; None where one is ignored.
struct Taken {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Taken {
    async fn next(&mut self) -> Exit {
        tokio::select! {
            () = received_one(self.interrupt.as_mut()) => Exit::Interrupted,
            () = received_one(self.terminate.as_mut()) => Exit::Terminated,
            () = received_one(self.hang_up.as_mut()) => Exit::HungUp,
        }
    }

    /// Waits for a signal that says that it takes too long. A hang-up comes from the kernel and
    /// from the shell, and `timeout` signals the process and its group: neither says that.
    async fn impatient(&mut self, since: Instant) {
        loop {
            let exit = self.next().await;
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

async fn watch(mut taken: Taken) {
    let exit = taken.next().await;
    let since = Instant::now();
    FIRST.send_replace(Some(exit));
    streams::hurry();
    let most = match IN_ORDER.load(Ordering::Relaxed) {
        true => limits::IN_ORDER,
        false => limits::DROPPED,
    };
    tokio::select! {
        () = tokio::time::sleep(most) => {}
        () = taken.impatient(since) => {}
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

/// What the kernel says about this process, where it can be asked.
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
