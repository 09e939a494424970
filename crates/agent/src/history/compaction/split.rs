//! Splits a conversation in two: the part before is summarised, the part after is sent unchanged.

use crate::history::measure;
use crate::{History, Message, limits::COMPACTION_TURNS};

/// Returns the index of the first message that stays. The last turns stay, as many of their
/// messages as fit into `tail` tokens. Returns `None` if the part before has fewer than `least`
/// tokens and is not worth a summary.
pub(crate) fn split(history: &History, tail: u64, least: u64) -> Option<usize> {
    let messages = history.messages();
    let (mut first, mut kept, mut turns) = (messages.len(), 0, 0);
    while let Some(before) = first.checked_sub(1) {
        kept += measure::message(&messages[before]);
        // An unanswered prompt stays, however long it is: it is the task at hand.
        let asks = first == messages.len() && matches!(messages[before], Message::User(_));
        if turns == COMPACTION_TURNS || (kept > tail && !asks) {
            break;
        }
        first = before;
        turns += usize::from(history.is_prompt(before));
    }
    let gone: u64 = messages[..first].iter().map(measure::message).sum();
    (gone >= least).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, MessageId, ModelResponse};

    /// A conversation: `u`, `a` and `b` are a prompt, an answer and a briefing of 1,000 tokens
    /// each; capitals have 10,000.
    fn conversation(script: &str) -> History {
        let mut history = History::default();
        for kind in script.chars() {
            let text = "x".repeat(if kind.is_uppercase() { 40_000 } else { 4_000 });
            match kind.to_ascii_lowercase() {
                'u' => history.push_user(vec![Content::text(text)]),
                'b' => history.push_briefing(text),
                _ => history.push_response(answer(text), Vec::new()),
            }
        }
        history
    }

    fn answer(text: String) -> ModelResponse {
        ModelResponse::from_text(MessageId::from("m"), MessageId::from("t"), "x/y", text)
    }

    #[test]
    fn the_last_turns_stay_as_far_as_they_fit() {
        for (script, tail, first, prompt_is_cut) in [
            // At most three turns, including the running one.
            ("uauauauau", 1_000_000, Some(4), false),
            // As many messages as fit.
            ("uauauauau", 3_000, Some(6), false),
            // A long turn is cut in the middle; its prompt is before the cut.
            ("uaUaaaaaa", 4_000, Some(5), true),
            // A prompt without an answer stays, however long it is.
            ("uauaU", 3_000, Some(4), false),
            ("uauaaA", 3_000, Some(6), true),
            // A briefing begins no turn and does not count as a prompt.
            ("uauabuabu", 1_000_000, Some(2), false),
            ("uaUaaaab", 3_000, Some(5), true),
            // Too small to be worth a request.
            ("uau", 1_000_000, None, false),
            ("U", 10, None, false),
            ("", 10, None, false),
        ] {
            let history = conversation(script);
            let cut = split(&history, tail, 1_000);
            assert_eq!(cut, first, "{script} {tail}");
            let unanswered = cut.is_some_and(|first| history.last_prompt_before(first).is_some());
            assert_eq!(unanswered, prompt_is_cut, "{script} {tail}");
        }
    }
}
