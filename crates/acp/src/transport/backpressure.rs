//! Measures how far the client lags: updates and bytes that it has not read yet.

use crate::{
    Link, Pipe,
    limits::{BACKLOG_BYTES, BYTES_IN_FLIGHT, UPDATES_IN_FLIGHT},
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::watch;

/// Counts the updates handed to the transport and the updates it has written, and the bytes that
/// wait for the client, including those not handed over yet.
pub(crate) struct Backpressure {
    link: Arc<dyn Link>,
    sent: AtomicU64,
    written: watch::Sender<u64>,
    /// The bytes of each update in flight, in order.
    in_flight_updates: Mutex<InFlightUpdates>,
    backlog: watch::Sender<Backlog>,
}

#[derive(Debug, Default)]
struct InFlightUpdates {
    each: VecDeque<usize>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Backlog {
    bytes: usize,
    /// Nothing more will be written, so waiters are released.
    closed: bool,
}

impl Default for Backpressure {
    fn default() -> Self {
        Self::over(Arc::new(Pipe))
    }
}

impl Backpressure {
    /// Creates the measure of a client behind `link`.
    pub(crate) fn over(link: Arc<dyn Link>) -> Self {
        Self {
            link,
            sent: AtomicU64::default(),
            written: watch::Sender::default(),
            in_flight_updates: Mutex::default(),
            backlog: watch::Sender::default(),
        }
    }

    /// Adds bytes that wait for the client.
    pub(crate) fn add(&self, bytes: usize) {
        let mut waiting = 0;
        // No receiver waits for the backlog to grow, so none is notified.
        self.backlog.send_if_modified(|backlog| {
            backlog.bytes += bytes;
            waiting = backlog.bytes;
            false
        });
        self.link.waiting(waiting);
    }

    /// Subtracts bytes that no longer wait.
    pub(crate) fn remove(&self, bytes: usize) {
        if bytes > 0 {
            self.backlog.send_modify(|backlog| backlog.bytes = backlog.bytes.saturating_sub(bytes));
        }
    }

    /// Returns whether [`BACKLOG_BYTES`] or more wait for the client.
    pub(crate) fn is_backlogged(&self) -> bool {
        self.backlog.borrow().bytes >= BACKLOG_BYTES
    }

    /// Completes when fewer than [`BACKLOG_BYTES`] wait for the client, or nothing more will be
    /// written, or turns do not wait for clients.
    pub(crate) async fn room(&self) {
        if !self.link.turns_wait() {
            return;
        }
        let mut backlog = self.backlog.subscribe();
        // We own the sender, so the channel cannot close while we wait.
        let _ = backlog.wait_for(|backlog| backlog.closed || backlog.bytes < BACKLOG_BYTES).await;
    }

    /// Counts an update handed to the transport; its bytes are already counted as waiting.
    pub(crate) fn count_sent(&self, bytes: usize) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let mut in_flight_updates = self.in_flight_updates();
        in_flight_updates.each.push_back(bytes);
        in_flight_updates.bytes += bytes;
    }

    /// Returns the number of updates handed over and not yet written; at least
    /// [`UPDATES_IN_FLIGHT`] if they hold [`BYTES_IN_FLIGHT`] bytes or more.
    pub(crate) fn in_flight(&self) -> u64 {
        let written = *self.written.borrow();
        let updates = self.sent.load(Ordering::Relaxed).saturating_sub(written);
        if self.in_flight_updates().bytes < BYTES_IN_FLIGHT {
            updates
        } else {
            updates.max(UPDATES_IN_FLIGHT)
        }
    }

    /// Returns a receiver that is notified when the transport has written more.
    pub(crate) fn progress(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// Completes when fewer than `most` updates are in flight.
    pub(crate) async fn below(&self, most: u64) {
        let mut progress = self.progress();
        while self.in_flight() >= most {
            // We own the sender, so the channel cannot close while we wait.
            let _ = progress.changed().await;
        }
    }

    pub(super) fn count_written(&self, updates: u64) {
        if updates == 0 {
            return;
        }
        let bytes = {
            let mut in_flight_updates = self.in_flight_updates();
            let most = in_flight_updates.each.len().min(usize::try_from(updates).unwrap_or(usize::MAX));
            let bytes = in_flight_updates.each.drain(..most).sum();
            in_flight_updates.bytes -= bytes;
            bytes
        };
        self.remove(bytes);
        self.written.send_modify(|written| *written += updates);
    }

    /// Marks the output as closed: nothing more will be written.
    pub(crate) fn close(&self) {
        self.backlog.send_modify(|backlog| backlog.closed = true);
    }

    fn in_flight_updates(&self) -> MutexGuard<'_, InFlightUpdates> {
        self.in_flight_updates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn the_backlog_has_room_once_enough_is_written_or_output_is_closed() {
        let backpressure = Backpressure::default();
        for _ in 0..5 {
            backpressure.add(1024 * 1024);
            backpressure.count_sent(1024 * 1024);
        }
        let mut room = Box::pin(backpressure.room());
        assert!(backpressure.is_backlogged() && room.as_mut().now_or_never().is_none());
        backpressure.count_written(1);
        assert!(room.as_mut().now_or_never().is_none(), "4 MiB are left");
        backpressure.count_written(1);
        assert!(room.now_or_never().is_some());
        backpressure.add(2 * BACKLOG_BYTES);
        assert!(backpressure.room().now_or_never().is_none());
        backpressure.close();
        assert!(backpressure.room().now_or_never().is_some());
    }

    #[test]
    fn few_large_updates_count_as_full_in_flight() {
        let backpressure = Backpressure::default();
        backpressure.count_sent(BYTES_IN_FLIGHT - 1);
        assert_eq!(backpressure.in_flight(), 1);
        backpressure.count_sent(1);
        assert_eq!(backpressure.in_flight(), UPDATES_IN_FLIGHT);
        backpressure.count_written(1);
        assert_eq!(backpressure.in_flight(), 1);
    }
}
