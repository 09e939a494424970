//! Which results of calls are no longer sent: those of files that were read again since, and old ones.

use super::measure;
use crate::{AnsweredCall, ContextLimits, Message, limits::IMAGE_TOKENS};
use std::collections::HashSet;

/// What stands for the result of a read that was repeated.
const READ_AGAIN: &str = "(Left out to make room: the same was read again later.)";
/// What stands for an old result.
const OLD: &str = "(Left out to make room. Make the call again if the result is needed.)";

/// What was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pruned {
    /// How many results.
    pub(super) results: usize,
    /// About how many tokens they had.
    pub(super) tokens: u64,
}

/// Leaves results out if that saves enough to be worth it. The newest results stay, whatever they are.
pub(super) fn prune(messages: &mut [Message], limits: &ContextLimits, least: u64) -> Option<Pruned> {
    let candidates = candidates(messages, limits.prune_protect);
    let tokens = candidates.iter().map(|candidate| candidate.saves).sum();
    if candidates.is_empty() || tokens < least {
        return None;
    }
    for candidate in &candidates {
        if let Message::Assistant(answer) = &mut messages[candidate.message] {
            let result = &mut answer.calls[candidate.call].result;
            candidate.text.clone_into(&mut result.text);
            result.images.clear();
        }
    }
    Some(Pruned { results: candidates.len(), tokens })
}

struct Candidate {
    message: usize,
    call: usize,
    text: &'static str,
    saves: u64,
}

fn candidates(messages: &[Message], protect: u64) -> Vec<Candidate> {
    let (mut newer, mut read) = (0, HashSet::new());
    let mut candidates = Vec::new();
    for (message, answer) in messages.iter().enumerate().rev() {
        let Message::Assistant(answer) = answer else { continue };
        for (call, answered) in answer.calls.iter().enumerate().rev() {
            let size =
                measure::text(&answered.result.text) + answered.result.images.len() as u64 * IMAGE_TOKENS;
            let again = read_of(answered).is_some_and(|read_of| !read.insert(read_of));
            let text = if again { READ_AGAIN } else { OLD };
            let saves = size.saturating_sub(measure::text(text));
            if saves > 0 && (again || newer >= protect) {
                candidates.push(Candidate { message, call, text, saves });
            } else {
                newer += size;
            }
        }
    }
    candidates
}

/// What a call read of a file, if it did.
fn read_of(call: &AnsweredCall) -> Option<String> {
    let read = call.name == "file_read" && !call.result.is_error;
    call.arguments.as_ref().ok().filter(|_| read).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssistantMessage, ToolResult};
    use serde_json::json;

    /// A conversation of calls, each in an answer of its own: the tool, the file, and bytes of the result.
    fn calls(calls: &[(&str, &str, usize)]) -> Vec<Message> {
        let answer = |(tool, path, bytes): &(&str, &str, usize)| {
            Message::Assistant(AssistantMessage {
                calls: vec![AnsweredCall {
                    provider_id: "p".to_owned(),
                    name: (*tool).to_owned(),
                    arguments: Ok(json!({ "path": path })),
                    result: ToolResult::ok("x".repeat(*bytes)),
                }],
                ..AssistantMessage::default()
            })
        };
        calls.iter().map(answer).collect()
    }

    fn left(messages: &[Message]) -> Vec<&str> {
        let result = |message: &Message| match message {
            Message::Assistant(answer) if answer.calls[0].result.text == READ_AGAIN => "again",
            Message::Assistant(answer) if answer.calls[0].result.text == OLD => "old",
            _ => "whole",
        };
        messages.iter().map(result).collect()
    }

    #[test]
    fn old_results_and_repeated_reads_go_and_new_ones_stay() {
        let script = [
            ("bash", "a", 8_000),
            ("file_read", "a", 8_000),
            ("file_read", "b", 8_000),
            ("file_read", "a", 8_000),
            ("bash", "a", 8_000),
            ("bash", "a", 40),
        ];
        // What is newer than the protected tokens stays, and so does the result in which they end.
        for (protect, least, expected) in [
            (4_011, 1_000, ["old", "again", "whole", "whole", "whole", "whole"]),
            (2_011, 1_000, ["old", "again", "old", "whole", "whole", "whole"]),
            (0, 0, ["old", "again", "old", "old", "old", "whole"]),
            (1_000_000, 1_000, ["whole", "again", "whole", "whole", "whole", "whole"]),
        ] {
            let limits = ContextLimits { prune_protect: protect, ..ContextLimits::default() };
            let mut messages = calls(&script);
            let pruned = prune(&mut messages, &limits, least);
            assert_eq!(left(&messages), expected, "{protect} {least}");
            let gone = expected.iter().filter(|left| **left != "whole").count();
            assert_eq!(pruned.map_or(0, |pruned| pruned.results), gone);
            let again = prune(&mut messages, &limits, 0);
            assert_eq!(again, None, "what is left out is not left out again");
        }
        let saves_too_little = prune(
            &mut calls(&script),
            &ContextLimits { prune_protect: 0, ..ContextLimits::default() },
            20_000,
        );
        assert_eq!(saves_too_little, None);
    }
}
