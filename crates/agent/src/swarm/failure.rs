//! Why a subagent did not finish, and whether it is worth another attempt.

use crate::{ModelError, TurnError, limits::SUBAGENT_RETRY_MAX};
use std::time::Duration;

/// How the run of a subagent ended without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// It was cancelled. Says where its work is, if it has a worktree.
    Cancelled(Option<String>),
    /// It failed for a passing reason.
    Passing(String),
    /// It failed, and would fail again.
    Lasting(String),
}

impl Failure {
    pub(super) fn of(error: &TurnError) -> Self {
        let text = error.to_string();
        match error {
            TurnError::Model(
                ModelError::Overloaded(_)
                | ModelError::Transport(_)
                | ModelError::BadResponse(_)
                | ModelError::ContextOverflow(_),
            ) => Self::Passing(text),
            _ => Self::Lasting(text),
        }
    }
}

/// Returns the delay before a retry; `retries` counts from 1, `random` is any number.
pub(super) fn delay(retries: u32, random: u32) -> Duration {
    let base = SUBAGENT_RETRY_MAX.min(Duration::from_secs(2_u64.saturating_pow(retries)));
    base + base.mul_f64(0.3 * f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passing_reasons_are_tried_again() {
        let text = || "no".to_owned();
        for (error, passing) in [
            (ModelError::Overloaded(text()), true),
            (ModelError::Transport(text()), true),
            (ModelError::BadResponse(text()), true),
            (ModelError::ContextOverflow(text()), true),
            (ModelError::Auth(text()), false),
            (ModelError::BadRequest(text()), false),
            (ModelError::NotConfigured(text()), false),
        ] {
            let failure = Failure::of(&TurnError::Model(error.clone()));
            assert_eq!(matches!(failure, Failure::Passing(_)), passing, "{error:?}");
        }
        assert_eq!(Failure::of(&TurnError::Closed), Failure::Lasting("the session is closed".to_owned()));
    }

    #[test]
    fn delays_double_up_to_half_a_minute_with_jitter() {
        let seconds: Vec<_> = (1..8).map(|retries| delay(retries, 0).as_secs()).collect();
        assert_eq!(seconds, [2, 4, 8, 16, 30, 30, 30]);
        assert_eq!(delay(1, u32::MAX), Duration::from_millis(2_600));
        assert_eq!(delay(40, u32::MAX), Duration::from_secs(39));
    }
}
