//! Messages that the user sent and that are not part of the conversation yet.

use crate::{
    composer::Fragment,
    driver::request::{PromptId, When},
};

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    /// Identifies it.
    pub(super) id: PromptId,
    /// It as the composer had it, to give it back.
    pub(super) content: Fragment,
    /// Its beginning, for display.
    pub(super) shown: String,
    /// When it is handled.
    pub(super) when: When,
}

/// The messages that wait, in the order in which they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WaitingMessages {
    next: u64,
    messages: Vec<Waiting>,
}

impl WaitingMessages {
    /// Adds a message; returns its id.
    pub(super) fn add(&mut self, content: Fragment, shown: String, when: When) -> PromptId {
        self.next += 1;
        let id = PromptId(self.next);
        self.messages.push(Waiting { id, content, shown, when });
        id
    }

    /// Removes a message, because it is part of the conversation or has ended. Returns it if it
    /// still waited.
    pub(super) fn remove(&mut self, id: PromptId) -> Option<Waiting> {
        let index = self.messages.iter().position(|message| message.id == id)?;
        Some(self.messages.remove(index))
    }

    /// Removes the message that was sent last.
    pub(super) fn take_last(&mut self) -> Option<Waiting> {
        self.messages.pop()
    }

    /// Removes all messages.
    pub(super) fn take_all(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.messages)
    }

    /// Returns the messages.
    pub(super) fn all(&self) -> &[Waiting] {
        &self.messages
    }
}
