//! The conversation as models see it.
//!
//! Architecture Invariant: an illegal conversation cannot be expressed. A call enters together with its result, so every call has exactly
//! one, whatever was cancelled, refused or interrupted.

pub(crate) mod compaction;
pub(crate) mod conversation;
pub(crate) mod fill;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod reading;

use crate::{AnsweredCall, AssistantMessage, Content, Item, Message, ModelResponse, ToolCallId, ToolResult};

/// The conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    messages: Vec<Message>,
    /// The ids of each message's calls, in their order.
    calls: Vec<Vec<ToolCallId>>,
    /// Who each message is from.
    from: Vec<Speaker>,
}

/// Who a message is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// The user; the first pieces of it are briefings.
    User { briefings: usize },
    /// Tiller itself.
    Tiller,
    /// The model.
    Model,
}

impl History {
    /// The conversation so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The ids of the calls of each message, in the order of the calls.
    pub(crate) fn calls(&self) -> &[Vec<ToolCallId>] {
        &self.calls
    }

    /// About how many bytes it takes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.messages.iter().map(measure::bytes).sum()
    }

    /// Whether the user said a message.
    pub(crate) fn is_prompt(&self, at: usize) -> bool {
        matches!(self.from[at], Speaker::User { .. })
    }

    /// The messages before one, as they were said: without briefings.
    pub(crate) fn said_before(&self, end: usize) -> Vec<Message> {
        (0..end).filter_map(|at| self.said(at)).collect()
    }

    /// What the user said last, where that is before a message.
    pub(crate) fn last_prompt_before(&self, end: usize) -> Option<Message> {
        let last = (0..self.messages.len()).rfind(|at| self.is_prompt(*at))?;
        if last < end { self.said(last) } else { None }
    }

    /// A message without briefings; `None` where it is nothing else.
    fn said(&self, at: usize) -> Option<Message> {
        match (self.from[at], &self.messages[at]) {
            (Speaker::Tiller, _) => None,
            (Speaker::User { briefings }, Message::User(content)) => {
                Some(Message::User(content[briefings..].to_vec()))
            }
            (_, message) => Some(message.clone()),
        }
    }

    /// Puts a text in place of all but the last `kept` messages, whose answers were written after
    /// something else then.
    pub(crate) fn shorten(&mut self, text: String, kept: usize) {
        let first = self.messages.len().saturating_sub(kept);
        self.messages.splice(..first, [Message::User(vec![Content::text(text)])]);
        self.calls.splice(..first, [Vec::new()]);
        self.from.splice(..first, [Speaker::User { briefings: 0 }]);
        prefix_changed(&mut self.messages[1..]);
    }

    /// Puts a text in place of the results of these calls.
    pub(crate) fn leave_results_out(&mut self, calls: &[ToolCallId], instead: &str) {
        let mut first_changed = None;
        for (at, (message, ids)) in self.messages.iter_mut().zip(&self.calls).enumerate() {
            let Message::Assistant(answer) = message else { continue };
            for (call, id) in answer.calls_mut().zip(ids) {
                if calls.contains(id) {
                    instead.clone_into(&mut call.result.text);
                    call.result.images.clear();
                    first_changed.get_or_insert(at);
                }
            }
        }
        // The results follow the whole answer that asked for them: what it thought stands before them.
        if let Some(at) = first_changed {
            prefix_changed(&mut self.messages[at + 1..]);
        }
    }

    /// Adds what the user said.
    pub fn push_user(&mut self, content: Vec<Content>) {
        self.push(Message::User(content), Vec::new(), Speaker::User { briefings: 0 });
    }

    /// Adds what the model is told by Tiller itself.
    pub(crate) fn push_briefing(&mut self, text: String) {
        self.push(Message::User(vec![Content::text(text)]), Vec::new(), Speaker::Tiller);
    }

    /// Puts what the model is told by Tiller itself before what the user said last, which is the
    /// last message.
    pub(crate) fn brief_before_prompt(&mut self, text: String) {
        if let (Some(Message::User(content)), Some(Speaker::User { briefings })) =
            (self.messages.last_mut(), self.from.last_mut())
        {
            content.insert(*briefings, Content::text(text));
            *briefings += 1;
        }
    }

    /// Adds what the model must know of what the user did, if anything.
    pub(crate) fn push_note(&mut self, note: Option<String>) {
        if let Some(note) = note {
            self.push_user(vec![Content::text(note)]);
        }
    }

    /// Takes the last message away.
    pub(crate) fn pop(&mut self) {
        self.messages.pop();
        self.calls.pop();
        self.from.pop();
    }

    /// Adds an answer of the model with one result for each of its calls, in the order of the calls. An
    /// answer of nothing at all is left out: no provider takes it back.
    pub(crate) fn push_response(&mut self, response: ModelResponse, results: Vec<ToolResult>) {
        assert_eq!(response.calls().count(), results.len(), "every call has exactly one result");
        let ids = response.calls().map(|call| call.id.clone()).collect();
        let mut results = results.into_iter();
        let items: Vec<_> = response
            .items
            .into_iter()
            .filter_map(|item| {
                Some(match item {
                    Item::Text(text) if text.text.is_empty() && text.opaque.is_none() => return None,
                    Item::Text(text) => Item::Text(text),
                    Item::Reasoning(reasoning) => Item::Reasoning(reasoning),
                    Item::Call(call) => Item::Call(AnsweredCall::new(call, results.next()?)),
                    Item::Other(opaque) => Item::Other(opaque),
                })
            })
            .collect();
        if !items.is_empty() {
            let answer = AssistantMessage { model: response.model, items, prefix_changed: false };
            self.push(Message::Assistant(answer), ids, Speaker::Model);
        }
    }

    fn push(&mut self, message: Message, calls: Vec<ToolCallId>, from: Speaker) {
        self.messages.push(message);
        self.calls.push(calls);
        self.from.push(from);
    }
}

/// Marks answers: something that stood before them is sent in another form from now on.
fn prefix_changed(messages: &mut [Message]) {
    for message in messages {
        if let Message::Assistant(answer) = message {
            answer.prefix_changed = true;
        }
    }
}
