//! An update to the client, with the properties that the coalescer needs.

use crate::native::{Frame, StateKind, Step};
use agent::{MessageId, ToolCallId};
use serde::Serialize;

/// An update of a session; `U` is the update type of the protocol version.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update<U> {
    /// More text of a message. Merges with following text of that message.
    Chunk {
        /// The kind of text.
        kind: ChunkKind,
        /// The message.
        id: MessageId,
        /// The text.
        text: String,
    },
    /// A running call's output so far. Replaces queued output of the same call.
    Output {
        /// The call.
        call: ToolCallId,
        /// The update.
        update: Box<U>,
    },
    /// More output of a running command. Merges with following output of that command.
    Display {
        /// The call.
        call: ToolCallId,
        /// The output.
        data: String,
    },
    /// Any other update: sent as soon as the writer accepts it.
    Urgent(Box<U>),
    /// A native event: sent as soon as the writer accepts it.
    Native(Box<Frame>),
    /// A native state: replaces a queued state of the same kind and has its own pace; no update
    /// waits for it.
    State(StateKind, Box<Frame>),
}

impl<U> From<Step> for Update<U> {
    fn from(step: Step) -> Self {
        match step {
            Step::Frame(frame) => Self::Native(Box::new(frame)),
            Step::State(kind, frame) => Self::State(kind, Box::new(frame)),
        }
    }
}

/// The kind of a text chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// The assistant's message.
    Message,
    /// The model's reasoning.
    Thought,
}

impl<U> Update<U> {
    /// Wraps an update that must not be delayed.
    pub(crate) fn urgent(update: U) -> Self {
        Self::Urgent(Box::new(update))
    }

    /// Returns the approximate size on the wire in bytes. A native state counts as zero: at most
    /// one of each kind is queued.
    pub(crate) fn bytes(&self) -> usize
    where
        U: Serialize,
    {
        match self {
            Self::Chunk { text, .. } => text.len(),
            Self::Display { data, .. } => data.len(),
            Self::Output { update, .. } | Self::Urgent(update) => agent::json_bytes(update),
            Self::Native(frame) => agent::json_bytes(&frame.event),
            Self::State(..) => 0,
        }
    }
}
