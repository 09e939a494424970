//! The connections of this process, and how long operations wait for one.

use deadpool_postgres::{Object, Pool, PoolError};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long a wait that has ended is remembered.
const REMEMBERED: Duration = Duration::from_secs(1);

/// A pool of connections.
pub(super) struct Connections {
    pool: Pool,
    waits: Waits,
}

impl Connections {
    pub(super) fn new(pool: Pool) -> Self {
        Self { pool, waits: Waits::default() }
    }

    /// Returns a connection once one is free.
    pub(super) async fn get(&self) -> Result<Object, PoolError> {
        let _waiting = self.waits.begin();
        self.pool.get().await
    }

    /// Returns the longest wait of an operation that waits, or began within the last second.
    pub(super) fn wait(&self) -> Duration {
        self.waits.longest(Instant::now())
    }
}

/// The waits for a connection.
#[derive(Default)]
struct Waits(Mutex<State>);

#[derive(Default)]
struct State {
    next: u64,
    /// Since when each waits.
    waiting: BTreeMap<u64, Instant>,
    /// When waits ended, and how long they were: only those that are the longest since.
    ended: Vec<(Instant, Duration)>,
}

impl Waits {
    fn begin(&self) -> Waiting<'_> {
        let mut state = self.lock();
        state.next += 1;
        let id = state.next;
        let since = Instant::now();
        state.waiting.insert(id, since);
        Waiting { waits: self, id, since }
    }

    fn longest(&self, now: Instant) -> Duration {
        let mut state = self.lock();
        state.ended.retain(|(at, _)| now.saturating_duration_since(*at) < REMEMBERED);
        let waits = state.waiting.values().map(|since| now.saturating_duration_since(*since));
        let ended = state.ended.iter().map(|(_, took)| *took);
        waits.chain(ended).max().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait that ends when this is dropped, with or without a connection.
struct Waiting<'a> {
    waits: &'a Waits,
    id: u64,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let (now, took) = (Instant::now(), self.since.elapsed());
        let mut state = self.waits.lock();
        state.waiting.remove(&self.id);
        state.ended.retain(|(at, other)| *other > took && now.saturating_duration_since(*at) < REMEMBERED);
        state.ended.push((now, took));
        drop(state);
        metrics::histogram!("tiller_pool_wait_seconds").record(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::{Counter, Gauge, Histogram, Key, KeyName, Metadata, SharedString, Unit};

    /// Remembers the names of the histograms that were recorded.
    #[derive(Default)]
    struct Names(Mutex<Vec<String>>);

    impl metrics::Recorder for Names {
        fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
        fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

        fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
            Counter::noop()
        }

        fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
            Gauge::noop()
        }

        fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
            self.0.lock().unwrap().push(key.name().to_owned());
            Histogram::noop()
        }
    }

    #[test]
    fn a_wait_for_a_connection_moves_the_metric() {
        let (names, waits) = (Names::default(), Waits::default());
        metrics::with_local_recorder(&names, || drop(waits.begin()));
        assert_eq!(*names.0.lock().unwrap(), ["tiller_pool_wait_seconds"]);
    }

    #[test]
    fn the_longest_wait_is_that_of_one_that_waits_or_has_just_begun() {
        let waits = Waits::default();
        let now = Instant::now();
        assert_eq!(waits.longest(now), Duration::ZERO);
        let first = waits.begin();
        let second = waits.begin();
        assert!(waits.longest(first.since + Duration::from_secs(3)) >= Duration::from_secs(3));
        drop(first);
        let left = waits.longest(second.since + Duration::from_millis(500));
        assert!(left >= Duration::from_millis(500) && left < Duration::from_secs(1), "{left:?}");
        drop(second);
        assert_eq!(waits.lock().waiting.len(), 0);
        assert!(waits.lock().ended.len() <= 2, "shorter ones are not kept");
        assert_eq!(waits.longest(Instant::now() + REMEMBERED), Duration::ZERO);
    }
}
