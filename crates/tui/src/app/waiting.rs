//! Messages that the user sent and that are not part of the conversation yet.

use crate::driver::request::{PromptId, When};

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Identifies it.
    pub id: PromptId,
    /// Its text as the composer has it, to give it back.
    pub text: String,
    /// When it is handled.
    pub when: When,
}

/// The messages that wait, in the order in which they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitingMessages {
    next: u64,
    messages: Vec<Waiting>,
}

impl WaitingMessages {
    /// Adds a message; returns its id.
    pub fn add(&mut self, text: String, when: When) -> PromptId {
        self.next += 1;
        let id = PromptId(self.next);
        self.messages.push(Waiting { id, text, when });
        id
    }

    /// Removes a message, because it is part of the conversation or has ended. Returns it if it
    /// still waited.
    pub fn remove(&mut self, id: PromptId) -> Option<Waiting> {
        let index = self.messages.iter().position(|message| message.id == id)?;
        Some(self.messages.remove(index))
    }

    /// Removes the message that was sent last.
    pub fn take_last(&mut self) -> Option<Waiting> {
        self.messages.pop()
    }

    /// Removes all messages.
    pub fn take_all(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.messages)
    }

    /// Returns the messages.
    pub fn all(&self) -> &[Waiting] {
        &self.messages
    }
}
