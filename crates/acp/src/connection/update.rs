//! An update on its way to the client, with what the coalescer must know of it.

use super::Wire;
use crate::native::{Frame, StateKind, Step};
use agent::{MessageId, ToolCallId};
use serde::Serialize;

/// An update of a session, in a version whose updates are `U` on the wire.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update<U> {
    /// More text of a message: merges with what follows.
    Chunk {
        /// Whose text it is.
        kind: ChunkKind,
        /// The message.
        id: MessageId,
        /// The text.
        text: String,
    },
    /// A running call's output so far: replaces what came before.
    Output {
        /// The call.
        call: ToolCallId,
        /// The update.
        update: Box<U>,
    },
    /// More of a running command's output: merges with what follows.
    Display {
        /// The call.
        call: ToolCallId,
        /// The output.
        data: String,
    },
    /// Anything else: goes out as soon as the writer takes it.
    Urgent(Box<U>),
    /// An event of the native layer: the same.
    Native(Box<Frame>),
    /// A state of the native layer: replaces one of its kind that waits, keeps its own pace, and nothing waits for it.
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

/// Whose text a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// The assistant's.
    Message,
    /// The model's reasoning.
    Thought,
}

impl<U> Update<U> {
    /// An update that may not wait.
    pub(crate) fn urgent(update: U) -> Self {
        Self::Urgent(Box::new(update))
    }

    /// About how many bytes it takes on the wire. A state of the native layer counts for nothing:
    /// one of each kind waits at the most.
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

    /// The update as it goes over the wire; `None` when it is no update of the protocol.
    pub(crate) fn into_wire<W: Wire<Update = U>>(self) -> Option<U> {
        match self {
            Self::Chunk { kind, id, text } => Some(W::chunk(kind, &id, text)),
            Self::Display { call, data } => Some(W::display(&call, data)),
            Self::Output { update, .. } | Self::Urgent(update) => Some(*update),
            Self::Native(_) | Self::State(..) => None,
        }
    }
}
