//! Chooses the call results that are no longer sent: reads of files that were read again since, and
//! old results.

use crate::history::measure;
use crate::{
    AnsweredCall, ContextLimits, History, Message, ResultsLeftOut, ToolCallId, limits::IMAGE_TOKENS,
};
use std::collections::HashSet;

/// Replaces the result of a read that was repeated later.
const READ_AGAIN: &str = "(Left out to make room: the same was read again later.)";
/// Replaces an old result.
const OLD: &str = "(Left out to make room. Make the call again if the result is needed.)";

/// The results to leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pruned {
    /// The number of results.
    pub(crate) results: usize,
    /// Their estimated size in tokens.
    pub(crate) tokens: u64,
    /// Their calls, grouped by replacement text.
    pub(crate) left_out: Vec<ResultsLeftOut>,
}

/// Returns the results to leave out, or `None` if that saves fewer than `least` tokens. The newest
/// results are always kept.
pub(crate) fn prune(history: &History, limits: &ContextLimits, least: u64) -> Option<Pruned> {
    let candidates = candidates(history.messages(), limits.prune_protect);
    let tokens = candidates.iter().map(|candidate| candidate.saves).sum();
    if candidates.is_empty() || tokens < least {
        return None;
    }
    let by_text = |text: &str| {
        let these = candidates.iter().filter(|candidate| candidate.text == text);
        let calls: Vec<ToolCallId> =
            these.map(|candidate| history.calls()[candidate.message][candidate.call].clone()).collect();
        (!calls.is_empty()).then(|| ResultsLeftOut { calls, instead: text.to_owned() })
    };
    let left_out = [READ_AGAIN, OLD].into_iter().filter_map(by_text).collect();
    Some(Pruned { results: candidates.len(), tokens, left_out })
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
        for (call, answered) in answer.calls().enumerate().collect::<Vec<_>>().into_iter().rev() {
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

/// Returns the arguments of a successful file read, which identify what was read; `None` for other
/// calls.
fn read_of(call: &AnsweredCall) -> Option<String> {
    let read = call.name == "file_read" && !call.result.is_error;
    call.arguments.as_ref().ok().filter(|_| read).map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Item, MessageId, ModelCall, ModelResponse, ToolCallRequest, ToolResult};
    use serde_json::json;

    /// A conversation of calls, each in its own answer: the tool, the file, and the bytes of the
    /// result.
    fn calls(calls: &[(&str, &str, usize)]) -> History {
        let mut history = History::default();
        for (number, (tool, path, bytes)) in calls.iter().enumerate() {
            let call = ModelCall {
                provider_id: "p".to_owned(),
                name: (*tool).to_owned(),
                arguments: json!({ "path": path }).to_string(),
                opaque: None,
            };
            let call = ToolCallRequest::new(ToolCallId(format!("tool_{number}")), call);
            let response = ModelResponse {
                id: MessageId::from("m"),
                thought_id: MessageId::from("t"),
                model: "x/y".to_owned(),
                items: vec![Item::Call(call)],
            };
            history.push_response(response, vec![ToolResult::ok("x".repeat(*bytes))]);
        }
        history
    }

    fn left(history: &History) -> Vec<&str> {
        let result = |message: &Message| {
            let Message::Assistant(answer) = message else { return "whole" };
            match answer.calls().next().map(|call| call.result.text.as_str()) {
                Some(READ_AGAIN) => "again",
                Some(OLD) => "old",
                _ => "whole",
            }
        };
        history.messages().iter().map(result).collect()
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
        // Results newer than the protected tokens stay, and so does the result in which the
        // protected tokens end.
        for (protect, least, expected) in [
            (4_011, 1_000, ["old", "again", "whole", "whole", "whole", "whole"]),
            (2_011, 1_000, ["old", "again", "old", "whole", "whole", "whole"]),
            (0, 0, ["old", "again", "old", "old", "old", "whole"]),
            (1_000_000, 1_000, ["whole", "again", "whole", "whole", "whole", "whole"]),
        ] {
            let limits = ContextLimits { prune_protect: protect, ..ContextLimits::default() };
            let mut history = calls(&script);
            let pruned = prune(&history, &limits, least).unwrap();
            for left in &pruned.left_out {
                history.leave_results_out(&left.calls, &left.instead);
            }
            assert_eq!(left(&history), expected, "{protect} {least}");
            assert_eq!(pruned.results, expected.iter().filter(|left| **left != "whole").count());
            let again = prune(&history, &limits, 0);
            assert_eq!(again, None, "what is left out is not left out again");
        }
        let saves_too_little =
            prune(&calls(&script), &ContextLimits { prune_protect: 0, ..ContextLimits::default() }, 20_000);
        assert_eq!(saves_too_little, None);
    }
}
