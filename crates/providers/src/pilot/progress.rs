//! The progress of a prompt: replays the conversation since the user's last message.
//!
//! Commands are written as sequential functions that make calls. If the conversation contains a
//! call already, its recorded result is returned; the first call that it does not contain stops the
//! function and becomes the answer. Nothing is stored between requests.

use super::{limits::CALLS_PER_REPLY, uri::path_of_uri};
use agent::{AnsweredCall, Content, Message, ModelRequest, ToolResult};
use serde_json::Value;

/// A tool call to make.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    /// The name of the tool.
    pub(crate) name: &'static str,
    /// Its arguments, an object.
    pub(crate) arguments: Value,
}

/// Why a command cannot continue.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Blocked {
    /// It needs the results of these calls.
    Calls(Vec<Call>),
    /// It failed; a sentence.
    Failed(String),
    /// The user denied the call of this tool.
    Refused(&'static str),
    /// The recorded calls are not those that these steps would make.
    Lost,
}

/// The user's last message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Prompt {
    /// Its text. A resource mentioned in the middle of a line appears there as a quoted path.
    pub(crate) text: String,
    /// An alternative text, with every attached resource in its place.
    pub(crate) inline: String,
    /// The attached resources, as paths.
    pub(crate) attached: Vec<String>,
}

/// The calls answered since the user's last message, and the text to send with the next ones.
pub(crate) struct Script<'a> {
    answered: Vec<&'a AnsweredCall>,
    used: usize,
    messages: Vec<String>,
    offered: Vec<&'a str>,
}

/// Returns the user's last message, if there is one.
pub(crate) fn prompt(request: &ModelRequest) -> Option<Prompt> {
    let contents = request.messages.iter().rev().find_map(|message| match message {
        Message::User(contents) => Some(contents),
        Message::Assistant(_) => None,
    })?;
    let mut prompt = Prompt::default();
    for content in contents {
        match content {
            Content::Text(text) => match attachment(text) {
                Some(path) => prompt.attach(path),
                None => {
                    let text = text.replace("\r\n", "\n");
                    push(&mut prompt.text, &text);
                    push(&mut prompt.inline, &text);
                }
            },
            Content::ResourceLink { uri, .. } | Content::Resource { uri, .. } => {
                prompt.attach(path_of_uri(uri))
            }
            Content::Image { .. } => {}
        }
    }
    prompt.attached.sort();
    prompt.attached.dedup();
    Some(prompt)
}

impl Prompt {
    fn attach(&mut self, path: String) {
        let quoted = format!("`{path}`");
        // Editors split a line at a mention; a resource attached to the whole prompt follows the
        // end of its text.
        if self.text.ends_with([' ', '\t']) {
            push(&mut self.text, &quoted);
        }
        push(&mut self.inline, &quoted);
        self.attached.push(path);
    }
}

impl<'a> Script<'a> {
    /// Collects the calls answered since the user's last message.
    pub(crate) fn of(request: &'a ModelRequest) -> Self {
        let last_user = request.messages.iter().rposition(|message| matches!(message, Message::User(_)));
        let since = &request.messages[last_user.map_or(0, |index| index + 1)..];
        let answered = since
            .iter()
            .filter_map(|message| match message {
                Message::Assistant(answer) => Some(answer.calls()),
                Message::User(_) => None,
            })
            .flatten()
            .collect();
        let offered = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        Self { answered, used: 0, messages: Vec::new(), offered }
    }

    /// Returns whether a tool is offered.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.offered.contains(&tool)
    }

    /// Adds text that is sent with the next call, or with the report.
    pub(crate) fn add_message(&mut self, text: impl Into<String>) {
        self.messages.push(text.into());
    }

    /// Takes the text to send now.
    pub(crate) fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// Makes a call and returns its result, also if it is an error; only a denial by the user ends
    /// the command.
    pub(crate) fn call(&mut self, name: &'static str, arguments: Value) -> Result<&'a ToolResult, Blocked> {
        let results = self.calls(vec![Call { name, arguments }])?;
        Ok(results[0])
    }

    /// Makes a call that must succeed.
    pub(crate) fn call_or_fail(&mut self, name: &'static str, arguments: Value) -> Result<&'a str, Blocked> {
        let result = self.call(name, arguments)?;
        if result.is_error { Err(Blocked::Failed(result.text.trim().to_owned())) } else { Ok(&result.text) }
    }

    /// Makes independent calls in one batch.
    pub(crate) fn calls(&mut self, mut calls: Vec<Call>) -> Result<Vec<&'a ToolResult>, Blocked> {
        let mut results = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter().enumerate() {
            let Some(answered) = self.answered.get(self.used) else {
                let mut missing = calls.split_off(index);
                missing.truncate(CALLS_PER_REPLY);
                return Err(Blocked::Calls(missing));
            };
            if answered.name != call.name || answered.arguments.as_ref() != Ok(&call.arguments) {
                return Err(Blocked::Lost);
            }
            self.used += 1;
            self.messages.clear();
            if answered.result.is_error && is_refusal(&answered.result.text) {
                return Err(Blocked::Refused(call.name));
            }
            results.push(&answered.result);
        }
        Ok(results)
    }
}

/// Returns the number of calls in the whole conversation. New calls are numbered from there, so
/// that ids are unique.
pub(crate) fn calls_made(messages: &[Message]) -> usize {
    let count = |message: &Message| match message {
        Message::Assistant(answer) => answer.calls().count(),
        Message::User(_) => 0,
    };
    messages.iter().map(count).sum()
}

fn is_refusal(text: &str) -> bool {
    text.trim_start().starts_with("User denied permission")
}

fn push(text: &mut String, more: &str) {
    if !text.is_empty() && !text.ends_with(char::is_whitespace) && !more.starts_with(char::is_whitespace) {
        text.push(' ');
    }
    text.push_str(more);
}

/// Returns the path if a text is an attachment instead of the user's words, in the form in which
/// the runtime passes attached resources to models.
fn attachment(text: &str) -> Option<String> {
    let line = text.lines().next()?;
    let uri = match line.strip_prefix("Attached: ") {
        Some(uri) => uri,
        None => line.strip_prefix("Attached by name only")?.strip_suffix(')')?.rsplit_once('(')?.1,
    };
    uri.contains("://").then(|| path_of_uri(uri))
}
