//! Where a conversation is cut in two: what lies before is summed up, what follows is sent as it is.

use super::measure;
use crate::{Message, limits::COMPACTION_TURNS};

/// The first message that stays: those of the last turns, as many of them as take no more than `tail` tokens. `None` where what lies before
/// has fewer than `least` tokens, and is not worth it.
pub(super) fn split(messages: &[Message], tail: u64, least: u64) -> Option<usize> {
    let (mut first, mut kept, mut turns) = (messages.len(), 0, 0);
    while let Some(before) = first.checked_sub(1) {
        kept += measure::message(&messages[before]);
        // A prompt that was not answered yet stays, however long it is: it is what is to be done.
        let asks = first == messages.len() && matches!(messages[before], Message::User(_));
        if turns == COMPACTION_TURNS || (kept > tail && !asks) {
            break;
        }
        first = before;
        turns += usize::from(matches!(messages[before], Message::User(_)));
    }
    let gone: u64 = messages[..first].iter().map(measure::message).sum();
    (gone >= least).then_some(first)
}

/// What the user asked last, where that is among what is summed up: it must stay word for word.
pub(super) fn unanswered(messages: &[Message], first: usize) -> Option<&Message> {
    let prompt = messages.iter().rposition(|message| matches!(message, Message::User(_)))?;
    (prompt < first).then(|| &messages[prompt])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssistantMessage, Content};

    /// A conversation: `u` and `a` are a prompt and an answer of 1,000 tokens each, in capitals of 10,000.
    fn conversation(script: &str) -> Vec<Message> {
        let message = |kind: char| {
            let text = "x".repeat(if kind.is_uppercase() { 40_000 } else { 4_000 });
            match kind.to_ascii_lowercase() {
                'u' => Message::User(vec![Content::text(text)]),
                _ => Message::Assistant(AssistantMessage::said("", text)),
            }
        };
        script.chars().map(message).collect()
    }

    #[test]
    fn the_last_turns_stay_as_far_as_they_fit() {
        for (script, tail, first, prompt_is_cut) in [
            // Three turns at the most, the running one among them.
            ("uauauauau", 1_000_000, Some(4), false),
            // As many messages as fit.
            ("uauauauau", 3_000, Some(6), false),
            // A long turn is cut in the middle, and what was asked is before it.
            ("uaUaaaaaa", 4_000, Some(5), true),
            // A prompt that waits for its answer stays, however long.
            ("uauaU", 3_000, Some(4), false),
            ("uauaaA", 3_000, Some(6), true),
            // Too little to be worth a request.
            ("uau", 1_000_000, None, false),
            ("U", 10, None, false),
            ("", 10, None, false),
        ] {
            let messages = conversation(script);
            let cut = split(&messages, tail, 1_000);
            assert_eq!(cut, first, "{script} {tail}");
            let unanswered = cut.is_some_and(|first| unanswered(&messages, first).is_some());
            assert_eq!(unanswered, prompt_is_cut, "{script} {tail}");
        }
    }
}
