//! Compaction: summaries that replace the beginning of a conversation.

use super::ids::CompactionId;

/// Progress of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Its id, unique in its session.
    pub id: CompactionId,
    /// The new state.
    pub step: CompactionStep,
}

/// A step of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionStep {
    /// It began. Live only.
    Started,
    /// More of the summary. Live only.
    Text(String),
    /// It succeeded: models are sent the summary in place of all but the last messages.
    Completed {
        /// The text that replaces the messages, as the model reads it.
        summary: String,
        /// How many of the messages before this event, counted from the last, are still sent
        /// unchanged. A message is a prompt, or an answer with the results of its calls.
        kept: u64,
    },
    /// It failed, for this reason; the conversation is unchanged.
    Failed(String),
    /// The turn was cancelled; the conversation is unchanged.
    Cancelled,
}

impl CompactionStep {
    /// Returns whether the compaction has ended.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Started | Self::Text(_))
    }
}
