//! Summaries that stand for the beginning of a conversation.

use super::ids::CompactionId;

/// What is new about the summing up of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Which one, unique in its session.
    pub id: CompactionId,
    /// What happened.
    pub step: CompactionStep,
}

/// A step of summing up a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionStep {
    /// It began. Live only.
    Started,
    /// More of the summary. Live only.
    Text(String),
    /// It is done: models are sent the summary in place of all but the last messages.
    Completed {
        /// What stands for the part that is no longer sent, as the model reads it.
        summary: String,
        /// How many of the messages before this event are still sent as they were, the last ones. A message is a prompt, or an answer with
        /// the results of its calls.
        kept: u64,
    },
    /// It did not work; the conversation stays as it was. Why, in words.
    Failed(String),
    /// The turn was cancelled; the conversation stays as it was.
    Cancelled,
}

impl CompactionStep {
    /// Whether nothing more will happen.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::Started | Self::Text(_))
    }
}
