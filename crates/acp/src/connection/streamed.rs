//! Which messages of an answer were streamed, so that no text is sent twice.

use super::update::ChunkKind;
use agent::{MessageId, ModelResponse};

/// The messages streamed since the last complete answer.
#[derive(Debug, Default)]
pub(crate) struct StreamedMessages(Vec<MessageId>);

impl StreamedMessages {
    /// Registers a message of which a piece is sent.
    pub(crate) fn insert(&mut self, id: &MessageId) {
        if !self.0.contains(id) {
            self.0.push(id.clone());
        }
    }

    /// Returns the reasoning and the text of a complete answer, without those that were streamed
    /// and those that are empty. Then forgets what was streamed.
    pub(crate) fn unsent(&mut self, response: &ModelResponse) -> Vec<(ChunkKind, MessageId, String)> {
        let streamed = std::mem::take(&mut self.0);
        let thought = response.thoughts().trim_end().to_owned();
        let messages = [
            (ChunkKind::Thought, &response.thought_id, thought),
            (ChunkKind::Message, &response.id, response.text()),
        ];
        let unsent = messages.into_iter().filter(|(_, id, text)| !text.is_empty() && !streamed.contains(id));
        unsent.map(|(kind, id, text)| (kind, id.clone(), text)).collect()
    }

    /// Forgets what was streamed.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
