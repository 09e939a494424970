//! An update on its way to the client, with what the coalescer must know of it.

use super::display;
use agent::{MessageId, ToolCallId};
use agent_client_protocol::v1::schema as acp;

/// An update of a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update {
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
        update: Box<acp::ToolCallUpdate>,
    },
    /// More of a running command's output: merges with what follows.
    Display {
        /// The call.
        call: ToolCallId,
        /// The output.
        data: String,
    },
    /// Anything else: goes out as soon as the writer takes it.
    Urgent(Box<acp::SessionUpdate>),
}

/// Whose text a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChunkKind {
    /// The user's.
    User,
    /// The assistant's.
    Message,
    /// The model's reasoning.
    Thought,
}

impl Update {
    /// An update that may not wait.
    pub(crate) fn urgent(update: acp::SessionUpdate) -> Self {
        Self::Urgent(Box::new(update))
    }

    /// The update as it goes over the wire.
    pub(crate) fn into_wire(self) -> acp::SessionUpdate {
        match self {
            Self::Chunk { kind, id, text } => chunk(kind, &id, text.into()),
            Self::Output { update, .. } => acp::SessionUpdate::ToolCallUpdate(*update),
            Self::Display { call, data } => {
                let update =
                    acp::ToolCallUpdate::new(call.as_str().to_owned(), acp::ToolCallUpdateFields::new());
                acp::SessionUpdate::ToolCallUpdate(update.meta(display::output(&call, data)))
            }
            Self::Urgent(update) => *update,
        }
    }
}

/// A piece of a message.
pub(crate) fn chunk(kind: ChunkKind, id: &MessageId, content: acp::ContentBlock) -> acp::SessionUpdate {
    let chunk = acp::ContentChunk::new(content).message_id(acp::MessageId::new(id.as_str()));
    match kind {
        ChunkKind::User => acp::SessionUpdate::UserMessageChunk(chunk),
        ChunkKind::Message => acp::SessionUpdate::AgentMessageChunk(chunk),
        ChunkKind::Thought => acp::SessionUpdate::AgentThoughtChunk(chunk),
    }
}
