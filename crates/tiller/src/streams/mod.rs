//! Standard output and standard error: the one place that writes to them.
//!
//! Each has a queue and a thread that writes it, so a reader that stalls never blocks a write for
//! good: a signal, or the time limit of a run, ends the waiting. Errors are kept, and become the
//! exit code of whatever command was running ([`crate::ending`]).

mod queue;

use crate::limits;
pub(crate) use queue::{Queue, Rest, Unwritten, WhenFull};
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

/// Standard output. A write waits while the queue is full; a flush waits until all is written.
pub(crate) fn stdout() -> Stream {
    Stream { queue: &STDOUT, when_full: WhenFull::Wait }
}

/// Standard error. Nothing waits for its reader: what does not fit into the queue is left out, and
/// a later line says how much that was. No write fails: there is nowhere to tell of it, and the
/// library for logs would print that it could not print.
pub(crate) fn stderr() -> Stream {
    Stream { queue: &STDERR, when_full: WhenFull::LeaveOut }
}

/// Whether standard output is a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    rustix::termios::isatty(rustix::stdio::stdout())
}

/// From now on the reader of standard output is waited for until this moment at the longest.
pub(crate) fn wait_until(moment: Instant) {
    STDOUT.wait_until(moment);
}

/// The process is about to end: what is queued has [`limits::LAST_WORDS`] to be written.
pub(crate) fn hurry() {
    wait_until(Instant::now() + limits::LAST_WORDS);
}

/// Waits until all of standard output is written, or cannot be, or is not waited for any more.
pub(crate) fn finish_stdout() -> Rest {
    STDOUT.finish()
}

/// Waits until all of standard error is written, for `most` at the longest.
pub(crate) fn finish_stderr(most: Duration) {
    STDERR.wait_until(Instant::now() + most);
    // There is nowhere left to tell of it.
    let _ = STDERR.finish();
}

/// Completes when standard output cannot be written any more, with the reason. Cancel-safe.
pub(crate) async fn stdout_failed() -> Unwritten {
    STDOUT.failed().await
}

/// Completes when the queue of standard output has room. Cancel-safe.
pub(crate) async fn stdout_has_room() {
    STDOUT.has_room().await;
}

/// A writer to one of the two.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    queue: &'static Queue,
    when_full: WhenFull,
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
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
            Rest::Written => Ok(()),
            Rest::Failed(why) => Err(why.into()),
            Rest::GivenUp => Err(Unwritten::given_up().into()),
        }
    }
}

/// An open file, written without a buffer.
struct Descriptor(BorrowedFd<'static>);

impl Write for Descriptor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(self.0, bytes) {
                Err(Errno::INTR) => {}
                // Somebody who shares the file has made it non-blocking.
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
