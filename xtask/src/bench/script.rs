//! What the model says, chosen by a word in the last prompt, so that the bench steers it through the product.

use crate::peers::wire::{DONE, end, text, tool_call, usage};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;

/// How many chunks a burst has.
pub(super) const BURST: usize = 5_000;
/// How many chunks a paced answer has.
pub(super) const PACED: usize = 100;
/// The time between two paced chunks: a fast reader's speed.
pub(super) const PACE: Duration = Duration::from_millis(10);
/// How many tools the tool turn calls.
const TOOLS: usize = 3;
/// How many calls a turn of one kind of call has.
const CALLS: usize = 20;
/// The file that the tool turn reads and writes, in the project's folder.
pub(super) const FILE: &str = "notes.txt";

/// What a command makes beside the project's folder if nothing confines it.
pub(super) const ESCAPED: &str = "escaped";
/// The command that tries to.
const ESCAPE: &str = "touch ../escaped";

/// An answer of the model. A prompt asks for it by containing its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Script {
    /// One chunk of text.
    One,
    /// [`BURST`] chunks, as fast as they can be written.
    Burst,
    /// [`PACED`] chunks, one each [`PACE`].
    Paced,
    /// A read, a write and a command, each in a request of its own, then a word.
    Tools,
    /// [`CALLS`] calls that touch nothing outside the agent.
    Lookups,
    /// [`CALLS`] reads.
    Reads,
    /// A read, so that the file is known, and [`CALLS`] writes.
    Writes,
    /// A command that shows by what it leaves behind whether it was confined, and [`CALLS`] that do
    /// nothing.
    Trues,
    /// One chunk, then nothing until the connection is closed.
    Hang,
    /// Chunks as fast as they can be written, until the connection is closed.
    Flood,
}

impl Script {
    const ALL: [Script; 10] = [
        Script::One,
        Script::Burst,
        Script::Paced,
        Script::Tools,
        Script::Lookups,
        Script::Reads,
        Script::Writes,
        Script::Trues,
        Script::Hang,
        Script::Flood,
    ];

    /// The word by which a prompt asks for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Script::One => "bench:one",
            Script::Burst => "bench:burst",
            Script::Paced => "bench:paced",
            Script::Tools => "bench:tools",
            Script::Lookups => "bench:lookups",
            Script::Reads => "bench:reads",
            Script::Writes => "bench:writes",
            Script::Trues => "bench:trues",
            Script::Hang => "bench:hang",
            Script::Flood => "bench:flood",
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

    /// The pause between two events.
    pub(super) fn pause(self) -> Duration {
        if self == Script::Paced { PACE } else { Duration::ZERO }
    }

    /// How many tools it calls, one a request.
    fn calls(self) -> usize {
        match self {
            Script::Tools => TOOLS,
            Script::Lookups | Script::Reads => CALLS,
            Script::Writes | Script::Trues => CALLS + 1,
            Script::One | Script::Burst | Script::Paced | Script::Hang | Script::Flood => 0,
        }
    }

    /// How many different answers it has.
    fn steps(self) -> usize {
        self.calls() + 1
    }

    fn events(self, step: usize) -> Vec<String> {
        let events = match self {
            Script::One => vec![text("done")],
            Script::Burst => (0..BURST).map(|index| text(&marker(index))).collect(),
            Script::Paced => (0..PACED).map(|index| text(&marker(index))).collect(),
            _ if self.calls() > 0 && step == self.calls() => vec![text("done")],
            Script::Tools => vec![tool_step(step)],
            Script::Lookups => vec![tool_call(step, "task_get", &json!({ "id": format!("t{step}") }))],
            // No two calls are the same: a model that repeats itself is stopped.
            Script::Reads => vec![tool_call(step, "file_read", &json!({ "path": FILE, "limit": step + 1 }))],
            Script::Writes if step == 0 => vec![tool_call(0, "file_read", &json!({ "path": FILE }))],
            Script::Writes => {
                let content = format!("one\ntwo\n{step}\n");
                vec![tool_call(step, "file_write", &json!({ "path": FILE, "content": content }))]
            }
            Script::Trues => {
                let command = if step == 0 { ESCAPE.to_owned() } else { format!("true {step}") };
                vec![tool_call(step, "bash", &json!({ "command": command }))]
            }
            Script::Hang => return vec![text("hanging")],
            Script::Flood => return (0..BURST).map(|index| text(&marker(index))).collect(),
        };
        let reason = if step < self.calls() { "tool_calls" } else { "stop" };
        events.into_iter().chain([end(reason), usage(), DONE.to_owned()]).collect()
    }
}

/// Every answer, written out beforehand, so that the time it takes to write them is not measured.
pub(super) struct Answers {
    events: HashMap<(Script, usize), Vec<String>>,
}

impl Answers {
    /// Writes every answer.
    pub(super) fn prepare() -> Self {
        let steps =
            |script: Script| (0..script.steps()).map(move |step| ((script, step), script.events(step)));
        Self { events: Script::ALL.into_iter().flat_map(steps).collect() }
    }

    /// The data of the events to send when so many tool results have come back.
    pub(super) fn events(&self, script: Script, results: usize) -> &[String] {
        &self.events[&(script, results.min(script.steps() - 1))]
    }
}

/// The text of the chunk with this index. All have the same length, so that they are found in merged text too.
pub(super) fn marker(index: usize) -> String {
    format!("w{index:05} ")
}

fn tool_step(step: usize) -> String {
    match step {
        0 => tool_call(0, "file_read", &json!({ "path": FILE })),
        1 => tool_call(1, "file_write", &json!({ "path": FILE, "content": "one\ntwo\nthree\n" })),
        _ => tool_call(2, "bash", &json!({ "command": "echo done" })),
    }
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
        let answers = Answers::prepare();
        for script in Script::ALL.into_iter().filter(|script| !matches!(script, Script::Hang | Script::Flood))
        {
            assert_eq!(answers.events(script, 99).last().unwrap(), "[DONE]");
        }
        assert_eq!(answers.events(Script::Burst, 0).len(), BURST + 3);
        assert_eq!(answers.events(Script::Hang, 0).len(), 1);
        assert!(answers.events(Script::Tools, 0)[1].contains("tool_calls"));
        assert!(answers.events(Script::Tools, TOOLS)[1].contains("stop"));
    }

    #[test]
    fn markers_have_one_length() {
        assert_eq!(marker(0).len(), marker(BURST - 1).len());
    }
}
