//! What the model says, chosen by a word in the last prompt, so that the bench steers it through the product.

use serde_json::{Value, json};
use std::time::Duration;

/// How many chunks a burst has.
pub(super) const BURST: usize = 5_000;
/// How many chunks a paced answer has.
pub(super) const PACED: usize = 100;
/// The time between two paced chunks: a fast reader's speed.
pub(super) const PACE: Duration = Duration::from_millis(10);
/// The file that the tool turn reads and writes, in the project's folder.
pub(super) const FILE: &str = "notes.txt";

/// An answer of the model. A prompt asks for it by containing its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// One chunk of text.
    One,
    /// [`BURST`] chunks, as fast as they can be written.
    Burst,
    /// [`PACED`] chunks, one each [`PACE`].
    Paced,
    /// A read, a write and a command, each in a request of its own, then a word.
    Tools,
    /// One chunk, then nothing until the connection is closed.
    Hang,
}

impl Script {
    const ALL: [Script; 5] = [Script::One, Script::Burst, Script::Paced, Script::Tools, Script::Hang];

    /// The word by which a prompt asks for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Script::One => "bench:one",
            Script::Burst => "bench:burst",
            Script::Paced => "bench:paced",
            Script::Tools => "bench:tools",
            Script::Hang => "bench:hang",
        }
    }

    /// The script that a chat-completions request asks for, and how many tool results have come back since.
    pub(super) fn asked_for(request: &Value) -> Option<(Self, usize)> {
        let messages = request.get("messages")?.as_array()?;
        messages.iter().enumerate().rev().filter(|(_, message)| message["role"] == "user").find_map(
            |(at, message)| {
                let text = message["content"].to_string();
                let script = Self::ALL.into_iter().find(|script| text.contains(script.word()))?;
                let results = messages[at..].iter().filter(|message| message["role"] == "tool").count();
                Some((script, results))
            },
        )
    }

    /// The data of the events to send, the first of which is sent by itself, and the pause between two.
    pub(super) fn events(self, results: usize) -> (Vec<String>, Duration) {
        let (events, pause) = match self {
            Script::One => (vec![text("done")], Duration::ZERO),
            Script::Burst => ((0..BURST).map(|index| text(&marker(index))).collect(), Duration::ZERO),
            Script::Paced => ((0..PACED).map(|index| text(&marker(index))).collect(), PACE),
            Script::Tools => (vec![step(results)], Duration::ZERO),
            Script::Hang => return (vec![text("hanging")], Duration::ZERO),
        };
        let reason = if self == Script::Tools && results < 3 { "tool_calls" } else { "stop" };
        (events.into_iter().chain([end(reason), usage(), "[DONE]".to_owned()]).collect(), pause)
    }
}

/// The text of the chunk with this index. All have the same length, so that they are found in merged text too.
pub(super) fn marker(index: usize) -> String {
    format!("w{index:05} ")
}

fn step(results: usize) -> String {
    match results {
        0 => tool_call(0, "file_read", &json!({ "path": FILE })),
        1 => tool_call(1, "file_write", &json!({ "path": FILE, "content": "one\ntwo\nthree\n" })),
        2 => tool_call(2, "bash", &json!({ "command": "echo done" })),
        _ => text("done"),
    }
}

fn text(text: &str) -> String {
    chunk(&json!({ "role": "assistant", "content": text }), None)
}

fn tool_call(number: usize, name: &str, arguments: &Value) -> String {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call =
        json!({ "index": 0, "id": format!("call_{number}"), "type": "function", "function": function });
    chunk(&json!({ "role": "assistant", "tool_calls": [call] }), None)
}

fn end(reason: &str) -> String {
    chunk(&json!({}), Some(reason))
}

fn chunk(delta: &Value, finish_reason: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
    json!({ "id": "bench", "object": "chat.completion.chunk", "created": 0, "model": "bench", "choices": [choice] })
        .to_string()
}

fn usage() -> String {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 });
    json!({ "id": "bench", "object": "chat.completion.chunk", "created": 0, "model": "bench", "choices": [], "usage": usage })
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_prompt_chooses() {
        let request = json!({ "messages": [
            { "role": "system", "content": "bench:hang" },
            { "role": "user", "content": "bench:one" },
            { "role": "assistant", "content": "done" },
            { "role": "user", "content": [{ "type": "text", "text": "please bench:tools" }] },
            { "role": "assistant", "tool_calls": [] },
            { "role": "tool", "content": "1\tone" },
        ]});
        assert_eq!(Script::asked_for(&request), Some((Script::Tools, 1)));
        assert_eq!(Script::asked_for(&json!({ "messages": [{ "role": "user", "content": "hello" }] })), None);
    }

    #[test]
    fn every_answer_ends_as_the_wire_wants() {
        for script in [Script::One, Script::Burst, Script::Paced, Script::Tools] {
            assert_eq!(script.events(3).0.last().unwrap(), "[DONE]");
        }
        assert_eq!(Script::Burst.events(0).0.len(), BURST + 3);
        assert!(Script::Tools.events(0).0[1].contains("tool_calls"));
        assert!(Script::Tools.events(3).0[1].contains("stop"));
    }

    #[test]
    fn markers_have_one_length() {
        assert_eq!(marker(0).len(), marker(BURST - 1).len());
    }
}
