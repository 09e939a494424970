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
/// Chunks of a slow response.
pub(super) const SLOW: usize = 150;
/// The interval between two chunks of a slow response: 50 a second.
pub(super) const SLOW_PACE: Duration = Duration::from_millis(20);
/// Bytes of a burst of Markdown: [`BURST`] chunks of 64 bytes.
pub(super) const MARKDOWN: usize = BURST * CHUNK;
/// A quarter of a long answer, in bytes.
pub(super) const QUARTER: usize = 250_000;
/// Bytes that the command of [`Script::Output`] writes.
pub(super) const OUTPUT: usize = 100_000_000;
/// Bytes of a chunk of Markdown.
const CHUNK: usize = 64;
/// The last words of a response of Markdown; they stand nowhere else in it.
pub(super) const LAST_WORDS: &str = "Nothing follows.";
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

/// The commands of [`Script::Network`]: scripts in the project directory.
pub(super) const NETWORK: [&str; 2] = ["bash connects", "bash receives"];

/// A scripted response, selected by a prompt that contains its keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Script {
    /// One chunk of text.
    One,
    /// [`BURST`] chunks, as fast as they can be written.
    Burst,
    /// [`PACED`] chunks, one per [`PACE`].
    Paced,
    /// [`MARKDOWN`] bytes of Markdown in [`BURST`] chunks, as fast as they can be written.
    Markdown,
    /// [`QUARTER`] bytes of Markdown, as fast as they can be written.
    Quarter,
    /// Four times [`QUARTER`] bytes of Markdown, as fast as they can be written.
    Whole,
    /// Markdown in [`SLOW`] chunks, one per [`SLOW_PACE`].
    Slow,
    /// A command that writes [`OUTPUT`] bytes, then a word of text.
    Output,
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
    /// A trivial command and those of [`NETWORK`].
    Network,
    /// One chunk, then nothing until the connection is closed.
    Hang,
    /// Chunks as fast as they can be written, until the connection is closed.
    Flood,
    /// A call that requests [`AGENTS`] subagents with the task [`Script::Hang`].
    Swarm,
}

impl Script {
    const ALL: [Script; 17] = [
        Script::One,
        Script::Burst,
        Script::Paced,
        Script::Markdown,
        Script::Quarter,
        Script::Whole,
        Script::Slow,
        Script::Output,
        Script::Tools,
        Script::Lookups,
        Script::Reads,
        Script::Writes,
        Script::Trues,
        Script::Network,
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
            Script::Markdown => "bench:markdown",
            Script::Quarter => "bench:quarter",
            Script::Whole => "bench:whole",
            Script::Slow => "bench:slow",
            Script::Output => "bench:output",
            Script::Tools => "bench:tools",
            Script::Lookups => "bench:lookups",
            Script::Reads => "bench:reads",
            Script::Writes => "bench:writes",
            Script::Trues => "bench:trues",
            Script::Network => "bench:network",
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
        match self {
            Script::Paced => PACE,
            Script::Slow => SLOW_PACE,
            _ => Duration::ZERO,
        }
    }

    /// Returns the number of tools that it calls, one per request.
    fn calls(self) -> usize {
        match self {
            Script::Tools => TOOLS,
            Script::Lookups | Script::Reads => CALLS,
            Script::Writes | Script::Trues => CALLS + 1,
            Script::Network => NETWORK.len() + 1,
            Script::Swarm | Script::Output => 1,
            Script::One
            | Script::Burst
            | Script::Paced
            | Script::Markdown
            | Script::Quarter
            | Script::Whole
            | Script::Slow
            | Script::Hang
            | Script::Flood => 0,
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
            Script::Markdown => chunks(MARKDOWN),
            Script::Quarter => chunks(QUARTER),
            Script::Whole => chunks(4 * QUARTER),
            Script::Slow => chunks(SLOW * CHUNK),
            _ if self.calls() > 0 && step == self.calls() => vec![text("done")],
            Script::Output => {
                let command = format!("yes 'a line of output of a command' | head -c {OUTPUT}");
                vec![tool_call(step, "bash", &json!({ "command": command }))]
            }
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
            Script::Network => {
                let command = step.checked_sub(1).map_or("true", |at| NETWORK[at]);
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

/// Returns Markdown of this length in chunks: sections of prose and lists, with code as 30 % of it.
fn chunks(bytes: usize) -> Vec<String> {
    let mut markdown = String::with_capacity(bytes + 2_000);
    let room = bytes - LAST_WORDS.len() - 2;
    for section in 0.. {
        let part = part(section);
        if markdown.len() + part.len() > room {
            break;
        }
        markdown += &part;
    }
    while markdown.len() < room {
        markdown.push(if markdown.len() % 80 == 79 { ' ' } else { 'x' });
    }
    markdown += "\n\n";
    markdown += LAST_WORDS;
    markdown
        .as_bytes()
        .chunks(CHUNK)
        .map(|chunk| text(std::str::from_utf8(chunk).expect("it is ASCII")))
        .collect()
}

/// Returns one section of Markdown of about a kilobyte.
fn part(number: usize) -> String {
    let prose = "The **last page** is lost when the total divides evenly, because `total / size` rounds \
                 towards zero; see [the manual](https://example.com/pages) for the *exact* rule. ";
    let mut text = format!("## Section {number}\n\n{prose}{prose}{prose}\n\n");
    text += "- one item of a list, with some words in it\n- another one, which has `code`\n\n";
    text += "```rust\n";
    for line in 0..5 {
        text += &format!("    let value_{line} = pages.iter().map(|page| page.len()).sum();\n");
    }
    text + "```\n\n"
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
    fn markdown_has_the_length_and_the_share_of_code_of_its_name() {
        let answers = Answers::prepare();
        let content = |script| {
            let chunks = answers.events(script, 0).iter().filter_map(|event| {
                let event: Value = serde_json::from_str(event).ok()?;
                Some(event["choices"][0]["delta"]["content"].as_str()?.to_owned())
            });
            chunks.collect::<Vec<_>>()
        };
        let chunks = content(Script::Markdown);
        assert_eq!((chunks.len(), chunks.concat().len()), (BURST, MARKDOWN));
        assert_eq!(content(Script::Whole).concat().len(), 4 * QUARTER);
        assert!(chunks.concat().ends_with(LAST_WORDS) && chunks.concat().matches(LAST_WORDS).count() == 1);
        let section = part(0);
        let code = section.split("```").nth(1).expect("a section has code").len();
        assert!((25..=40).contains(&(code * 100 / section.len())), "{code} of {}", section.len());
    }

    #[test]
    fn markers_have_one_length() {
        assert_eq!(marker(0).len(), marker(BURST - 1).len());
    }
}
