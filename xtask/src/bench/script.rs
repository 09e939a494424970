//! The model's responses, selected by a keyword in the last prompt, so that the bench controls them
//! through the product.

use crate::peers::wire::{DONE, end, text, tool_call, usage};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;

/// Chunks of a burst.
pub(super) const BURST: usize = 5_000;
/// Chunks of a paced response.
pub(super) const PACED: usize = 100;
/// The interval between two paced chunks: the speed of a fast reader.
pub(super) const PACE: Duration = Duration::from_millis(10);
/// Subagents that one call requests.
pub(super) const AGENTS: usize = 100;
/// Tool calls of the tool turn.
const TOOLS: usize = 3;
/// Tool calls of the turns with a single kind of call.
const CALLS: usize = 20;
/// The file that the tool turn reads and writes, in the project directory.
pub(super) const FILE: &str = "notes.txt";

/// The file that a command creates beside the project directory if it is not confined.
pub(super) const ESCAPED: &str = "escaped";
/// The command that tries to create it.
const ESCAPE: &str = "touch ../escaped";

/// A scripted response, selected by a prompt that contains its keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Script {
    /// One chunk of text.
    One,
    /// [`BURST`] chunks, as fast as they can be written.
    Burst,
    /// [`PACED`] chunks, one per [`PACE`].
    Paced,
    /// A read, a write and a command, each in a request of its own, then a word of text.
    Tools,
    /// [`CALLS`] calls that touch nothing outside the agent.
    Lookups,
    /// [`CALLS`] reads.
    Reads,
    /// A read, which an edit of the file requires, and [`CALLS`] writes.
    Writes,
    /// A command whose effect shows whether it was confined, and [`CALLS`] trivial commands.
    Trues,
    /// One chunk, then nothing until the connection is closed.
    Hang,
    /// Chunks as fast as they can be written, until the connection is closed.
    Flood,
    /// A call that requests [`AGENTS`] subagents with the task [`Script::Hang`].
    Swarm,
}

impl Script {
    const ALL: [Script; 11] = [
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
        Script::Swarm,
    ];

    /// Returns the keyword that selects it.
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
            Script::Swarm => "bench:swarm",
        }
    }

    /// Returns the script that a chat-completions request selects, and the number of tool results
    /// since that prompt.
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

    /// Returns the pause between two events.
    pub(super) fn pause(self) -> Duration {
        if self == Script::Paced { PACE } else { Duration::ZERO }
    }

    /// Returns the number of tools that it calls, one per request.
    fn calls(self) -> usize {
        match self {
            Script::Tools => TOOLS,
            Script::Lookups | Script::Reads => CALLS,
            Script::Writes | Script::Trues => CALLS + 1,
            Script::Swarm => 1,
            Script::One | Script::Burst | Script::Paced | Script::Hang | Script::Flood => 0,
        }
    }

    /// Returns the number of distinct responses.
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
            // Calls differ, because a model that repeats itself is stopped.
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
            Script::Swarm => {
                let task = json!({ "task": Script::Hang.word() });
                vec![tool_call(0, "subagent", &json!({ "agents": vec![task; AGENTS] }))]
            }
            Script::Hang => return vec![text("hanging")],
            Script::Flood => return (0..BURST).map(|index| text(&marker(index))).collect(),
        };
        let reason = if step < self.calls() { "tool_calls" } else { "stop" };
        events.into_iter().chain([end(reason), usage(), DONE.to_owned()]).collect()
    }
}

/// All responses, prepared in advance so that generating them is not measured.
pub(super) struct Answers {
    events: HashMap<(Script, usize), Vec<String>>,
}

impl Answers {
    /// Prepares all responses.
    pub(super) fn prepare() -> Self {
        let steps =
            |script: Script| (0..script.steps()).map(move |step| ((script, step), script.events(step)));
        Self { events: Script::ALL.into_iter().flat_map(steps).collect() }
    }

    /// Returns the events to send after this number of tool results.
    pub(super) fn events(&self, script: Script, results: usize) -> &[String] {
        &self.events[&(script, results.min(script.steps() - 1))]
    }
}

/// Returns the text of a chunk. All markers have the same length, so that they can be counted in
/// merged text.
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
    fn the_last_prompt_selects_the_response() {
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
    fn every_response_ends_as_the_wire_format_requires() {
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
