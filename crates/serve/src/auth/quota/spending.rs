//! Tokens and cost within a day of UTC.

use super::{Level, Quota, QuotaExceeded, QuotaLimits};
use jiff::Timestamp;
use std::time::Duration;

/// The seconds of a day.
const DAY: i64 = 24 * 60 * 60;

/// What was used on one day.
#[derive(Debug, Default)]
pub(super) struct Spending {
    /// The day, counted from the epoch.
    day: i64,
    tokens: u64,
    microdollars: u64,
}

impl Spending {
    pub(super) fn add(&mut self, tokens: u64, microdollars: u64, now: Timestamp) {
        let day = day_of(now);
        if day > self.day {
            *self = Self { day, ..Self::default() };
        }
        self.tokens = self.tokens.saturating_add(tokens);
        self.microdollars = self.microdollars.saturating_add(microdollars);
    }

    /// Counts what another record has of this day, where that is more.
    pub(super) fn at_least(&mut self, tokens: u64, microdollars: u64, now: Timestamp) {
        self.add(0, 0, now);
        if self.day == day_of(now) {
            self.tokens = self.tokens.max(tokens);
            self.microdollars = self.microdollars.max(microdollars);
        }
    }

    pub(super) fn check(
        &self,
        level: Level,
        limits: &QuotaLimits,
        now: Timestamp,
    ) -> Result<(), QuotaExceeded> {
        if self.is_over(now) {
            return Ok(());
        }
        for (quota, used, limit) in [
            (Quota::Tokens, self.tokens, limits.tokens_per_day),
            (Quota::Cost, self.microdollars, limits.microdollars_per_day),
        ] {
            if let Some(limit) = limit
                && used >= limit
            {
                let left = DAY - now.as_second().rem_euclid(DAY);
                let retry_after = Some(Duration::from_secs(left.unsigned_abs()));
                return Err(QuotaExceeded { quota, level, limit, retry_after });
            }
        }
        Ok(())
    }

    /// Whether the day is over, so that nothing of it counts. A clock that was set back ends none.
    pub(super) fn is_over(&self, now: Timestamp) -> bool {
        day_of(now) > self.day || (self.tokens == 0 && self.microdollars == 0)
    }
}

/// Returns when the day began.
pub(super) fn day_begin(now: Timestamp) -> Timestamp {
    Timestamp::from_second(day_of(now) * DAY).unwrap_or(now)
}

fn day_of(now: Timestamp) -> i64 {
    now.as_second().div_euclid(DAY)
}
