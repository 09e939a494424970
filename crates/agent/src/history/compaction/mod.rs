//! What is sent of a conversation that outgrows its model's context.
//!
//! Nothing is touched before room is needed. Then, from the cheapest to the dearest: results that
//! were read anew since and old results are left out; what lies further back is summed up by the
//! model itself; and where no model can do that, the oldest part is left out. The log keeps
//! everything: what is left out is left out of requests alone, and each step is an event, so that
//! the next process sends what this one sends.

pub(crate) mod measure;
mod prune;
mod room;
mod split;
mod summary;
mod summing;

pub(crate) use measure::{Fill, around, tool_bytes};
pub(crate) use room::Room;
pub(crate) use summing::{Summed, Summing, can_sum_up};

use crate::CompactionId;

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
