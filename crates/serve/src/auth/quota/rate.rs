//! A token bucket of a minute, in one number: the time at which it will be full again.

use std::time::Duration;
use tokio::time::Instant;

/// The time in which an empty bucket fills.
const WINDOW: Duration = Duration::from_secs(60);

/// A token bucket; a new one is full.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rate {
    full_at: Option<Instant>,
}

impl Rate {
    /// Returns in `Err` how long it takes until one more fits.
    pub(super) fn check(&self, limit: u32, now: Instant) -> Result<(), Duration> {
        if limit == 0 {
            return Err(WINDOW);
        }
        let wait = (self.after(limit, now) - now).saturating_sub(WINDOW);
        if wait.is_zero() { Ok(()) } else { Err(wait) }
    }

    /// Takes one.
    pub(super) fn count(&mut self, limit: u32, now: Instant) {
        if limit > 0 {
            self.full_at = Some(self.after(limit, now));
        }
    }

    /// Whether it is full, so that forgetting it changes nothing.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.full_at.is_none_or(|full_at| full_at <= now)
    }

    /// Returns when it will be full once one more is taken. `limit` is not zero.
    fn after(&self, limit: u32, now: Instant) -> Instant {
        self.full_at.map_or(now, |full_at| full_at.max(now)) + WINDOW / limit
    }
}
