//! Detects a subagent that shows no activity.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The last activity of a running subagent.
#[derive(Debug)]
pub(super) struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    last: Instant,
    /// Calls and questions that are open: the subagent waits for them, and they have timeouts of
    /// their own.
    open: usize,
}

impl Default for Activity {
    fn default() -> Self {
        Self(Mutex::new(State { last: Instant::now(), open: 0 }))
    }
}

impl Activity {
    pub(super) fn happened(&self) {
        self.lock().last = Instant::now();
    }

    /// A call or a question began.
    pub(super) fn began(&self) {
        let mut state = self.lock();
        (state.last, state.open) = (Instant::now(), state.open + 1);
    }

    /// A call or a question ended.
    pub(super) fn ended(&self) {
        let mut state = self.lock();
        (state.last, state.open) = (Instant::now(), state.open.saturating_sub(1));
    }

    /// Forgets what was open: another attempt begins.
    pub(super) fn reset(&self) {
        *self.lock() = State { last: Instant::now(), open: 0 };
    }

    /// Completes when the subagent was idle for longer than the limit, and returns for how long.
    /// Never completes if the limit is zero.
    pub(super) async fn idle(&self, limit: Duration) -> Duration {
        if limit.is_zero() {
            return std::future::pending().await;
        }
        let every = (limit / 6).clamp(Duration::from_secs(1), Duration::from_secs(5));
        loop {
            tokio::time::sleep(every).await;
            let state = self.lock();
            let idle = state.last.elapsed();
            if state.open == 0 && idle > limit {
                return idle;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the failure of a subagent that was idle.
pub(super) fn message(idle: Duration) -> String {
    format!("watchdog: subagent idle for {:.1}s with no activity", idle.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_open_call_is_not_idle_and_silence_is() {
        let (activity, limit) = (Activity::default(), Duration::from_secs(60));
        let idle =
            async |seconds| tokio::time::timeout(Duration::from_secs(seconds), activity.idle(limit)).await;
        assert!(idle(50).await.is_err());
        activity.began();
        assert!(idle(1_000).await.is_err(), "a call is open");
        activity.ended();
        assert!(idle(50).await.is_err());
        activity.happened();
        let silent = idle(100).await.unwrap();
        assert_eq!(message(silent), "watchdog: subagent idle for 65.0s with no activity");
        assert!(
            tokio::time::timeout(Duration::from_secs(9_999), activity.idle(Duration::ZERO)).await.is_err()
        );
    }
}
