//! Tracks how full a model's context is. The provider's count is authoritative; what was added
//! since is estimated.

use super::{History, measure::message};

/// How full the context is, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ContextUsage {
    /// The number of messages in the last request that was answered.
    asked: usize,
    /// The provider's count for a request, and the number of messages in that request.
    counted: Option<(u64, usize)>,
}

impl ContextUsage {
    /// Records that a request with this many messages was answered.
    pub(crate) fn answered(&mut self, messages: usize) {
        self.asked = messages;
    }

    /// Records the provider's count for the last request that was answered.
    pub(crate) fn count(&mut self, tokens: u64) {
        self.counted = Some((tokens, self.asked));
    }

    /// Returns whether the count is missing: the provider counted none yet, or the conversation was
    /// shortened since.
    pub(crate) fn is_unknown(self) -> bool {
        self.counted.is_none()
    }

    /// Discards the count, because the conversation it was for is no longer sent.
    pub(crate) fn forget(&mut self) {
        self.counted = None;
    }

    /// Returns the tokens that a request with this conversation takes. `around` is the size of what
    /// goes with each request: the system prompt and the tools.
    pub(crate) fn used(self, history: &History, around: u64) -> u64 {
        let messages = history.messages();
        let estimate = around + messages.iter().map(message).sum::<u64>();
        match self.counted {
            // Some servers count only the tokens that are not in their cache, so the result is
            // never less than half of the estimate.
            Some((tokens, known)) => {
                let since = messages.get(known..).unwrap_or_default().iter().map(message).sum::<u64>();
                (tokens + since).max(estimate / 2)
            }
            None => estimate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    fn said(bytes: usize) -> Vec<Content> {
        vec![Content::text("x".repeat(bytes))]
    }

    #[test]
    fn what_was_counted_stands_and_what_came_since_is_estimated() {
        let mut history = History::default();
        history.push_user(said(4_000));
        let mut fill = ContextUsage::default();
        assert_eq!(fill.used(&history, 500), 1_500, "nothing was counted yet");
        fill.answered(1);
        fill.count(1_200);
        history.push_user(said(400));
        assert_eq!(fill.used(&history, 500), 1_300);
        fill.answered(2);
        fill.count(7);
        assert_eq!(
            fill.used(&history, 500),
            800,
            "a server that counts only what is new to it is not believed"
        );
        fill.forget();
        assert_eq!(fill.used(&history, 500), 1_600);
    }
}
