//! Thresholds for the use of a model's context.

use crate::{ContextLimits, ModelInfo, limits::COMPACTION_OUTPUT_TOKENS};

/// The thresholds of a model's context, in tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContextBudget {
    /// The context's size.
    pub(crate) window: u64,
    /// From here on the conversation is compacted.
    pub(crate) compact_at: u64,
    /// From here on the user is warned, unless it is compacted automatically.
    pub(crate) warn_at: u64,
    /// From here on the oldest part is left out, if the conversation was not made shorter by then.
    pub(crate) block_at: u64,
}

impl ContextBudget {
    /// Returns the thresholds for a model, or `None` if the size of its context is not known.
    pub(crate) fn of(model: &ModelInfo, limits: &ContextLimits) -> Option<Self> {
        (model.limits.context_size > 0).then(|| Self::within(model.limits.context_size, limits))
    }

    /// Returns the thresholds for a context that turned out to be smaller than the request sent.
    pub(crate) fn below(sent: u64, limits: &ContextLimits) -> Self {
        Self::within((sent / 3 * 2).max(1), limits)
    }

    /// The configured reserves are meant for large contexts; in a small one they are limited to a
    /// fraction of it.
    fn within(window: u64, limits: &ContextLimits) -> Self {
        let usable = window - limits.reserve_output.min(window / 4);
        let before_end = |buffer: u64, part: u64| usable - buffer.min(usable / part);
        let share = window / 100 * limits.compact_threshold.min(100)
            + window % 100 * limits.compact_threshold.min(100) / 100;
        Self {
            window,
            compact_at: share.min(before_end(limits.auto_compact_buffer, 8)),
            warn_at: before_end(limits.warning_buffer, 7),
            block_at: before_end(limits.blocking_buffer, 16),
        }
    }

    /// Describes for the user how full the context is and what happens next.
    pub(crate) fn described(self, used: u64, by_itself: bool, can_sum_up: bool) -> String {
        let percent = used.saturating_mul(100) / self.window.max(1);
        let then = match (can_sum_up, by_itself) {
            (false, _) => "What no longer fits is left out, the oldest messages first.".to_owned(),
            (true, true) => format!("It is summarised at about {}; `/compact` does it now.", self.compact_at),
            (true, false) => {
                "It is not summarised automatically (`context.auto_compact`); `/compact` does it.".to_owned()
            }
        };
        format!(" That is {percent} % of its {} tokens. {then}", self.window)
    }

    /// Returns how many tokens of the end of the conversation stay unchanged, chosen so that the
    /// conversation is not immediately too long again. `around` is the size of what goes with each
    /// request.
    pub(crate) fn tail(self, around: u64) -> u64 {
        (self.compact_at.saturating_sub(around) / 2).min(self.window / 4)
    }

    /// Returns the maximum size of a summary in tokens.
    pub(crate) fn summary(self) -> u64 {
        (self.window / 8).clamp(1, COMPACTION_OUTPUT_TOKENS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marks_lie_in_order_in_contexts_of_every_size() {
        let limits = ContextLimits::default();
        assert_eq!(
            ContextBudget::within(200_000, &limits),
            ContextBudget { window: 200_000, compact_at: 120_000, warn_at: 160_000, block_at: 181_000 }
        );
        for window in [1, 7, 99, 512, 4_096, 32_768, 128_000, 1_000_000, u64::MAX / 200] {
            let room = ContextBudget::within(window, &limits);
            assert!(room.compact_at <= room.warn_at + 1, "{room:?}");
            assert!(room.warn_at <= room.block_at && room.block_at <= window, "{room:?}");
        }
        let late = ContextLimits { compact_threshold: 100, ..limits };
        assert_eq!(ContextBudget::within(200_000, &late).compact_at, 172_000, "room for the answer stays");
    }
}
