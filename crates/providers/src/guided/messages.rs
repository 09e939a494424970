//! Messages that the guide writes.

use agent::{AssistantMessage, Content, Message};

/// Returns an answer of the model that is one text.
pub(super) fn answer(text: &str) -> Message {
    Message::Assistant(AssistantMessage::from_text("", text))
}

/// Returns a message of the user that is one text.
pub(super) fn user(text: impl Into<String>) -> Message {
    Message::User(vec![Content::text(text)])
}
