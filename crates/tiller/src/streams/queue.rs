//! The output queue of a stream, and the thread that writes it.

use crate::limits::STREAM_BYTES;
use std::{
    io::{self, Write},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use tokio::sync::Notify;

/// Bytes on their way to a stream.
///
/// At most [`STREAM_BYTES`] plus one write are queued, and as many are being written.
pub(crate) struct Queue {
    name: &'static str,
    open: fn() -> Box<dyn Write + Send>,
    state: Mutex<State>,
    /// Wakes threads when the state changes.
    changed: Condvar,
    /// Wakes tasks when the state changes.
    task_wakeup: Notify,
}

struct State {
    /// Whether the writer thread was started.
    started: bool,
    queued: Vec<u8>,
    /// Whether the writer thread holds bytes that it has not written yet.
    writing: bool,
    failed: Option<StdoutError>,
    /// The end of the wait for the reader; `None` means no limit.
    until: Option<Instant>,
    /// The number of bytes dropped since the last write that was queued.
    left_out: usize,
}

/// How a write behaves while the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenFull {
    /// It blocks until there is room, and fails when the queue's time is over.
    Wait,
    /// The bytes are dropped.
    LeaveOut,
}

/// Why standard output could not be written.
#[derive(Debug, Clone, thiserror::Error)]
#[error("standard output cannot be written: {text}")]
pub(crate) struct StdoutError {
    kind: io::ErrorKind,
    text: String,
}

/// The result of waiting for the queued output.
#[derive(Debug, Clone)]
pub(crate) enum QueueOutcome {
    /// All was written.
    Written,
    /// A write failed.
    Failed(StdoutError),
    /// The reader took too long.
    GivenUp,
}

impl StdoutError {
    /// From an error of the stream.
    pub(crate) fn new(error: &io::Error) -> Self {
        Self { kind: error.kind(), text: error.to_string() }
    }

    /// For a reader that took too long.
    pub(crate) fn given_up() -> Self {
        Self { kind: io::ErrorKind::TimedOut, text: "its reader takes too long".to_owned() }
    }

    /// Whether this caused the error.
    pub(crate) fn caused(error: &anyhow::Error) -> bool {
        let inner = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().is_some_and(|inner| inner.is::<Self>()),
            None => cause.is::<Self>(),
        };
        error.chain().any(inner)
    }

    /// Whether the reader closed the stream, which is legitimate.
    pub(crate) fn is_closed(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
        matches!(self.kind, BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
    }
}

impl From<StdoutError> for io::Error {
    fn from(why: StdoutError) -> Self {
        Self::new(why.kind, why)
    }
}

impl Queue {
    /// Creates an empty queue. The writer thread calls `open` before its first write.
    pub(crate) const fn new(name: &'static str, open: fn() -> Box<dyn Write + Send>) -> Self {
        let state = State {
            started: false,
            queued: Vec::new(),
            writing: false,
            failed: None,
            until: None,
            left_out: 0,
        };
        Self {
            name,
            open,
            state: Mutex::new(state),
            changed: Condvar::new(),
            task_wakeup: Notify::const_new(),
        }
    }

    /// Queues bytes.
    ///
    /// # Errors
    /// If the stream has failed, or the wait for room took too long.
    pub(crate) fn push(&'static self, bytes: &[u8], when_full: WhenFull) -> io::Result<()> {
        let mut state = self.lock();
        while state.failed.is_none() && state.queued.len() >= STREAM_BYTES {
            if when_full == WhenFull::LeaveOut {
                state.left_out += bytes.len();
                return Ok(());
            }
            let in_time;
            (state, in_time) = self.wait(state);
            if !in_time {
                return Err(StdoutError::given_up().into());
            }
        }
        if let Some(why) = &state.failed {
            return Err(why.clone().into());
        }
        if state.left_out > 0 {
            let bytes = std::mem::take(&mut state.left_out);
            let note = format!("tiller: {bytes} bytes are missing here: {} was not read\n", self.name);
            state.queued.extend_from_slice(note.as_bytes());
        }
        state.queued.extend_from_slice(bytes);
        if !state.started {
            state.started = true;
            let run = || self.run((self.open)());
            if let Err(error) = std::thread::Builder::new().name(self.name.to_owned()).spawn(run) {
                state.failed = Some(StdoutError::new(&error));
                return Err(error);
            }
        }
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Limits the wait for the reader to this moment; replaces an earlier limit.
    pub(crate) fn wait_until(&self, moment: Instant) {
        self.lock().until = Some(moment);
        self.wake_waiters();
    }

    /// Waits until everything is written, a write fails, or the time is over.
    pub(crate) fn finish(&self) -> QueueOutcome {
        let mut state = self.lock();
        loop {
            if let Some(why) = &state.failed {
                return QueueOutcome::Failed(why.clone());
            }
            if state.queued.is_empty() && !state.writing {
                return QueueOutcome::Written;
            }
            let in_time;
            (state, in_time) = self.wait(state);
            if !in_time {
                return QueueOutcome::GivenUp;
            }
        }
    }

    /// Completes with the reason when the stream has failed. Cancel-safe.
    pub(crate) async fn failed(&self) -> StdoutError {
        self.when(|state| state.failed.clone()).await
    }

    /// Completes when a write would not block. Cancel-safe.
    pub(crate) async fn has_room(&self) {
        self.when(|state| {
            let over = state.until.is_some_and(|until| until <= Instant::now());
            (over || state.failed.is_some() || state.queued.len() < STREAM_BYTES).then_some(())
        })
        .await;
    }

    async fn when<T>(&self, found: impl Fn(&State) -> Option<T>) -> T {
        loop {
            let task_wakeup = self.task_wakeup.notified();
            tokio::pin!(task_wakeup);
            // After this, no notification is missed.
            task_wakeup.as_mut().enable();
            if let Some(found) = found(&self.lock()) {
                return found;
            }
            task_wakeup.await;
        }
    }

    /// Writes what is queued, until a write fails.
    fn run(&self, mut out: Box<dyn Write + Send>) {
        let mut state = self.lock();
        loop {
            while state.queued.is_empty() {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            let bytes = std::mem::take(&mut state.queued);
            state.writing = true;
            drop(state);
            self.wake_waiters();
            let written = out.write_all(&bytes);
            state = self.lock();
            state.writing = false;
            if let Err(error) = &written {
                state.failed = Some(StdoutError::new(error));
                state.queued = Vec::new();
            }
            self.wake_waiters();
            if written.is_err() {
                return;
            }
        }
    }

    /// Waits for a change of the state; returns `false` when the time is over.
    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> (MutexGuard<'a, State>, bool) {
        let Some(until) = state.until else {
            return (self.changed.wait(state).unwrap_or_else(PoisonError::into_inner), true);
        };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return (state, false);
        }
        let waited = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
        (waited.0, true)
    }

    fn wake_waiters(&self) {
        self.changed.notify_all();
        self.task_wakeup.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A writer whose reader takes nothing.
    struct Stalled;

    impl Write for Stalled {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            loop {
                std::thread::park();
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn queue(open: fn() -> Box<dyn Write + Send>) -> &'static Queue {
        Box::leak(Box::new(Queue::new("test", open)))
    }

    /// A full queue whose writer thread is blocked as well.
    fn stalled() -> &'static Queue {
        let queue = queue(|| Box::new(Stalled));
        let piece = vec![b'x'; STREAM_BYTES];
        queue.push(&piece, WhenFull::Wait).unwrap();
        queue.push(&piece, WhenFull::Wait).unwrap();
        queue
    }

    #[test]
    fn a_blocked_writer_continues_when_the_time_is_over() {
        let queue = stalled();
        let writer = std::thread::spawn(|| queue.push(b"more", WhenFull::Wait));
        queue.wait_until(Instant::now() + Duration::from_millis(5));
        assert_eq!(writer.join().unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(matches!(queue.finish(), QueueOutcome::GivenUp));
    }

    #[test]
    fn dropped_bytes_are_counted_and_writers_do_not_block() {
        let queue = stalled();
        queue.push(b"four", WhenFull::LeaveOut).unwrap();
        queue.push(b"four", WhenFull::LeaveOut).unwrap();
        assert_eq!(queue.lock().left_out, 8);
        queue.lock().queued.clear();
        queue.push(b"more", WhenFull::LeaveOut).unwrap();
        let queued = String::from_utf8(queue.lock().queued.clone()).unwrap();
        assert_eq!(queued, "tiller: 8 bytes are missing here: test was not read\nmore");
    }

    #[tokio::test]
    async fn a_failed_write_is_reported_to_all_waiters() {
        let queue = queue(|| Box::new(Full));
        queue.push(b"x", WhenFull::Wait).unwrap();
        let why = queue.failed().await;
        assert!(!why.is_closed() && why.to_string().starts_with("standard output cannot be written"));
        assert!(matches!(queue.finish(), QueueOutcome::Failed(_)));
        assert_eq!(queue.push(b"y", WhenFull::Wait).unwrap_err().kind(), io::ErrorKind::StorageFull);
        queue.has_room().await;
    }
}
