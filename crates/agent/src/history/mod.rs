//! The conversation as models see it.
//!
//! Architecture Invariant: an illegal conversation cannot be expressed. A call enters together with
//! its result, so every call has exactly one, even if it was cancelled, refused or interrupted.

pub(crate) mod compaction;
pub(crate) mod context_usage;
pub(crate) mod conversation;
pub(crate) mod death;
pub(crate) mod glance;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod prompts;
pub(crate) mod reading;

use crate::{AnsweredCall, AssistantMessage, Content, Item, Message, ModelResponse, ToolCallId, ToolResult};

/// The conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    messages: Vec<Message>,
    /// The ids of each message's calls, in the order of the calls.
    calls: Vec<Vec<ToolCallId>>,
    /// The author of each message.
    from: Vec<Speaker>,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    /// The user. The first `briefings` pieces of the content are briefings.
    User { briefings: usize },
    /// Tiller itself.
    Tiller,
    /// The model.
    Model,
}

impl History {
    /// Returns the conversation so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the ids of each message's calls, in the order of the calls.
    pub(crate) fn calls(&self) -> &[Vec<ToolCallId>] {
        &self.calls
    }

    /// Returns its approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.messages.iter().map(measure::bytes).sum()
    }

    /// Returns whether the message at this index is from the user.
    pub(crate) fn is_prompt(&self, at: usize) -> bool {
        matches!(self.from[at], Speaker::User { .. })
    }

    /// Returns the messages before an index, without briefings.
    pub(crate) fn messages_before(&self, end: usize) -> Vec<Message> {
        (0..end).filter_map(|at| self.message_at(at)).collect()
    }

    /// Returns whether the last message is an answer without calls.
    pub(crate) fn ends_with_answer(&self) -> bool {
        matches!(self.messages.last(), Some(Message::Assistant(answer)) if !answer.has_calls())
    }

    /// Returns the last prompt of the user if it is before the message at `end`, else `None`.
    pub(crate) fn last_prompt_before(&self, end: usize) -> Option<Message> {
        let last = (0..self.messages.len()).rfind(|at| self.is_prompt(*at))?;
        if last < end { self.message_at(last) } else { None }
    }

    /// Returns the texts of the last prompt of the user, in lines.
    pub(crate) fn last_prompt_text(&self) -> String {
        let Some(Message::User(content)) = self.last_prompt_before(self.messages.len()) else {
            return String::new();
        };
        let text = |item: Content| match item {
            Content::Text(text) => Some(text),
            _ => None,
        };
        content.into_iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }

    /// Returns a message without its briefings; `None` if it consists of a briefing only.
    fn message_at(&self, at: usize) -> Option<Message> {
        match (self.from[at], &self.messages[at]) {
            (Speaker::Tiller, _) => None,
            (Speaker::User { briefings }, Message::User(content)) => {
                Some(Message::User(content[briefings..].to_vec()))
            }
            (_, message) => Some(message.clone()),
        }
    }

    /// Replaces all but the last `kept` messages with a text. The answers among those that stay are
    /// marked: they were written after another beginning.
    pub(crate) fn shorten(&mut self, text: String, kept: usize) {
        let first = self.messages.len().saturating_sub(kept);
        self.messages.splice(..first, [Message::User(vec![Content::text(text)])]);
        self.calls.splice(..first, [Vec::new()]);
        self.from.splice(..first, [Speaker::User { briefings: 0 }]);
        prefix_changed(&mut self.messages[1..]);
    }

    /// Replaces the results of these calls with a text.
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
        // The results follow the whole answer that made the calls, so its own reasoning stands
        // before them and is not affected.
        if let Some(at) = first_changed {
            prefix_changed(&mut self.messages[at + 1..]);
        }
    }

    /// Adds a message of the user.
    pub fn push_user(&mut self, content: Vec<Content>) {
        self.push(Message::User(content), Vec::new(), Speaker::User { briefings: 0 });
    }

    /// Adds a message of Tiller itself.
    pub(crate) fn push_briefing(&mut self, text: String) {
        self.push(Message::User(vec![Content::text(text)]), Vec::new(), Speaker::Tiller);
    }

    /// Inserts a message of Tiller itself before the last prompt, which must be the last message.
    pub(crate) fn brief_before_prompt(&mut self, text: String) {
        if let (Some(Message::User(content)), Some(Speaker::User { briefings })) =
            (self.messages.last_mut(), self.from.last_mut())
        {
            content.insert(*briefings, Content::text(text));
            *briefings += 1;
        }
    }

    /// Adds a note for the model on something the user did, if there is one.
    pub(crate) fn push_note(&mut self, note: Option<String>) {
        if let Some(note) = note {
            self.push_user(vec![Content::text(note)]);
        }
    }

    /// Removes the last message.
    pub(crate) fn pop(&mut self) {
        self.messages.pop();
        self.calls.pop();
        self.from.pop();
    }

    /// Adds an answer of the model with one result for each of its calls, in the order of the
    /// calls. An empty answer is dropped: no provider accepts one in a conversation.
    ///
    /// # Panics
    /// If the number of results differs from the number of calls.
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

/// Marks answers after a change: a message before them is sent in another form from now on.
fn prefix_changed(messages: &mut [Message]) {
    for message in messages {
        if let Message::Assistant(answer) = message {
            answer.prefix_changed = true;
        }
    }
}
