//! Where a turn stands, derived from its request.

use super::project::Project;
use agent::{AnsweredCall, Content, Message, Mode, ModelRequest};

/// Bytes of a command's output that are quoted.
const OUTPUT_BYTES: usize = 2_000;

/// Where a turn stands.
#[derive(Debug)]
pub(super) struct Situation {
    /// What the user wrote.
    pub(super) prompt: String,
    /// The mode that was last announced to the model.
    pub(super) mode: Mode,
    /// The files as they are now.
    pub(super) project: Project,
    /// The files as the conversation up to the prompt shows them.
    pub(super) before: Project,
    /// The calls since the prompt, in order, each round in a list of its own.
    pub(super) rounds: Vec<Vec<AnsweredCall>>,
    /// The number of messages up to and including the prompt.
    base: usize,
}

impl Situation {
    /// Returns where the turn of a request stands, or `None` if the request cannot be guided: it is
    /// not part of a turn, its answer has a prescribed form, or no file of the project is shown.
    pub(super) fn of(request: &ModelRequest) -> Option<Self> {
        let can_write = request.tools.iter().any(|tool| tool.name == "file_write");
        if !can_write || request.answer_schema.is_some() {
            return None;
        }
        let last = request.messages.iter().rposition(|message| matches!(message, Message::User(_)))?;
        let Message::User(parts) = &request.messages[last] else { return None };
        // Blocks that begin with a tag are briefings, not the user's words.
        let is_prompt = |text: &&str| !text.trim_start().starts_with('<');
        let prompt: Vec<&str> = texts(parts).filter(is_prompt).collect();
        let prompt = prompt.join("\n");
        let base = last + 1;
        let rounds = request.messages[base..]
            .iter()
            .filter_map(|message| match message {
                Message::Assistant(answer) => Some(answer.calls().cloned().collect()),
                Message::User(_) => None,
            })
            .collect();
        let before = Project::of(&request.messages[..base]);
        let is_known = !before.texts.is_empty() || !before.new_names(&prompt).is_empty();
        (is_known && !prompt.trim().is_empty()).then(|| Self {
            prompt,
            mode: mode(&request.messages),
            project: Project::of(&request.messages),
            before,
            rounds,
            base,
        })
    }

    /// Returns the conversation up to the prompt.
    pub(super) fn conversation<'a>(&self, messages: &'a [Message]) -> &'a [Message] {
        &messages[..self.base]
    }

    /// Returns the files written in this turn, each once.
    pub(super) fn written(&self) -> Vec<String> {
        let mut written: Vec<String> = Vec::new();
        for call in self.calls().filter(|call| call.name == "file_write" && !call.result.is_error) {
            if let Some(path) = argument(call, "path").filter(|path| !written.contains(path)) {
                written.push(path);
            }
        }
        written
    }

    /// Returns the commands of this turn, those that were refused too.
    pub(super) fn commands(&self) -> impl Iterator<Item = String> {
        self.calls().filter(|call| call.name == "bash").filter_map(|call| argument(call, "command"))
    }

    /// Returns the commands that were refused in this turn.
    pub(super) fn refused(&self) -> impl Iterator<Item = String> {
        let refused = self.calls().filter(|call| is_refused(call));
        refused.filter_map(|call| argument(call, "command"))
    }

    /// Describes the failure of the last round in which a command failed.
    pub(super) fn failure(&self) -> Option<String> {
        let call = self.rounds.iter().rev().find_map(|calls| calls.iter().find(|call| has_failed(call)))?;
        let command = argument(call, "command").unwrap_or_default();
        Some(format!("`{command}` fails:\n{}", excerpt(call)))
    }

    /// Counts the rounds of this turn in which a command failed after a change.
    pub(super) fn failures(&self) -> usize {
        let unchanged = |calls: &&Vec<AnsweredCall>| !calls.iter().any(|call| call.name == "file_write");
        let rounds = self.rounds.iter().skip_while(unchanged);
        rounds.filter(|calls| calls.iter().any(has_failed)).count()
    }

    fn calls(&self) -> impl Iterator<Item = &AnsweredCall> {
        self.rounds.iter().flatten()
    }
}

/// Returns an argument that is a string.
pub(super) fn argument(call: &AnsweredCall, name: &str) -> Option<String> {
    call.arguments.as_ref().ok()?.get(name)?.as_str().map(str::to_owned)
}

/// Whether a command ran and failed.
pub(super) fn has_failed(call: &AnsweredCall) -> bool {
    call.name == "bash" && call.result.is_error && !is_refused(call)
}

/// Whether a command did not run: the user or a rule refused it, or it could not be started. The
/// result of one that ran says how it ended.
pub(super) fn is_refused(call: &AnsweredCall) -> bool {
    call.name == "bash" && call.result.is_error && !agent::states_ending(&call.result.text)
}

/// The beginning and the end of a result: where a command says what it found, and where it sums up.
pub(super) fn excerpt(call: &AnsweredCall) -> String {
    let output = call.result.text.as_str();
    if output.len() <= OUTPUT_BYTES {
        return output.to_owned();
    }
    let head = &output[..agent::floor_char_boundary(output, OUTPUT_BYTES / 2)];
    let tail = &output[agent::ceil_char_boundary(output, output.len() - OUTPUT_BYTES / 2)..];
    format!("{head}\n…\n{tail}")
}

/// The text of an answer.
pub(super) fn text_of(message: &Message) -> String {
    match message {
        Message::Assistant(answer) => answer.text(),
        Message::User(_) => String::new(),
    }
}

fn mode(messages: &[Message]) -> Mode {
    let announced = messages.iter().rev().find_map(|message| match message {
        Message::User(parts) => texts(parts).filter_map(agent::announced_mode).last(),
        Message::Assistant(_) => None,
    });
    announced.unwrap_or_default()
}

fn texts(parts: &[Content]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    })
}
