//! How full a model's context is. What the provider counted is the truth; what came since is estimated.

use super::{History, measure::message};

/// How full the context is, as far as is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fill {
    /// How many messages were in the request that was answered last.
    asked: usize,
    /// What the provider counted for a request, and how many messages were in it.
    counted: Option<(u64, usize)>,
}

impl Fill {
    /// A request with that many messages was answered.
    pub(crate) fn answered(&mut self, messages: usize) {
        self.asked = messages;
    }

    /// Takes what the provider counted of the request that was answered last.
    pub(crate) fn count(&mut self, tokens: u64) {
        self.counted = Some((tokens, self.asked));
    }

    /// Whether nothing is known of what is sent now: nothing was counted yet, or it has become less
    /// since.
    pub(crate) fn is_unknown(self) -> bool {
        self.counted.is_none()
    }

    /// What was counted is no longer what is sent.
    pub(crate) fn forget(&mut self) {
        self.counted = None;
    }

    /// Tokens that a request with this conversation takes. `around` is what goes with it each time: the system prompt and the tools.
    pub(crate) fn used(self, history: &History, around: u64) -> u64 {
        let messages = history.messages();
        let estimate = around + messages.iter().map(message).sum::<u64>();
        match self.counted {
            // Some servers count only what they had not read before; so what was counted is not taken below half of what it must be.
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
        let mut fill = Fill::default();
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
