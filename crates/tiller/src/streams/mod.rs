//! Standard output and standard error; nothing else writes to them.
//!
//! Each has a queue and a writer thread, so a stalled reader never blocks a write forever: a
//! signal, or the time limit of a run, ends the wait. Errors are kept and become the exit code of
//! the running command ([`crate::finish`]).

mod diversion;
mod queue;

use crate::limits;
pub(crate) use diversion::{Diverted, divert_stderr};
pub(crate) use queue::{Queue, QueueOutcome, StdoutError, WhenFull};
use rustix::{
    event::{PollFd, PollFlags, poll},
    fd::BorrowedFd,
    io::Errno,
};
use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

static STDOUT: Queue = Queue::new("stdout", || Box::new(Descriptor(rustix::stdio::stdout())));
static STDERR: Queue = Queue::new("stderr", || Box::new(Descriptor(rustix::stdio::stderr())));

/// Standard output. A write blocks while the queue is full; a flush blocks until all is written.
pub(crate) fn stdout() -> Stream {
    Stream { queue: &STDOUT, when_full: WhenFull::Wait }
}

/// Standard error. It never blocks: what does not fit into the queue is dropped, and a later line
/// reports the number of bytes.
///
/// Writes never fail: there is nowhere to report the failure, and the logging library would try to
/// print it.
pub(crate) fn stderr() -> Stream {
    Stream { queue: &STDERR, when_full: WhenFull::LeaveOut }
}

/// Standard output without a queue, for the watcher of a terminal, which does nothing else.
pub(crate) fn terminal() -> impl Write + rustix::fd::AsFd {
    Descriptor(rustix::stdio::stdout())
}

/// Whether standard output is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    rustix::termios::isatty(rustix::stdio::stdout())
}

/// The number of columns of standard output; `None` if it is not a terminal.
pub(crate) fn stdout_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Whether standard error is a terminal.
pub(crate) fn stderr_is_terminal() -> bool {
    rustix::termios::isatty(rustix::stdio::stderr())
}

/// Limits the wait for the reader of standard output to this moment.
pub(crate) fn wait_until(moment: Instant) {
    STDOUT.wait_until(moment);
}

/// Announces the end of the process: queued output has [`limits::LAST_WRITES`] to be written.
pub(crate) fn limit_last_writes() {
    wait_until(Instant::now() + limits::LAST_WRITES);
}

/// Waits until standard output is written completely, fails, or its time is over.
pub(crate) fn finish_stdout() -> QueueOutcome {
    STDOUT.finish()
}

/// Waits until standard error is written completely, for `most` at the longest.
pub(crate) fn finish_stderr(most: Duration) {
    STDERR.wait_until(Instant::now() + most);
    // A failure cannot be reported any more.
    let _ = STDERR.finish();
}

/// Completes with the reason when standard output can no longer be written. Cancel-safe.
pub(crate) async fn stdout_failed() -> StdoutError {
    STDOUT.failed().await
}

/// Completes when the queue of standard output has room. Cancel-safe.
pub(crate) async fn stdout_has_room() {
    STDOUT.has_room().await;
}

/// A writer to one of the two streams.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    queue: &'static Queue,
    when_full: WhenFull,
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.when_full == WhenFull::LeaveOut && diversion::take(bytes) {
            return Ok(bytes.len());
        }
        match self.queue.push(bytes, self.when_full) {
            Err(error) if self.when_full == WhenFull::Wait => Err(error),
            Ok(()) | Err(_) => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.when_full == WhenFull::LeaveOut {
            return Ok(());
        }
        match self.queue.finish() {
            QueueOutcome::Written => Ok(()),
            QueueOutcome::Failed(why) => Err(why.into()),
            QueueOutcome::GivenUp => Err(StdoutError::given_up().into()),
        }
    }
}

/// An open descriptor, written without a buffer.
struct Descriptor(BorrowedFd<'static>);

impl rustix::fd::AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0
    }
}

impl Write for Descriptor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(self.0, bytes) {
                Err(Errno::INTR) => {}
                // Another process that shares the file description made it non-blocking.
                Err(Errno::AGAIN) => {
                    poll(&mut [PollFd::new(&self.0, PollFlags::OUT)], None)?;
                }
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
