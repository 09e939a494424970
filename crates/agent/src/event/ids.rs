//! The ids of the protocol, each with its own type so that they cannot be mixed up.

use crate::limits::PROMPT_ID_CHARS;
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub String);

        impl $name {
            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }
    };
}

id!(
    /// A session: a UUIDv7 as text, the same in every protocol and interface.
    SessionId
);
id!(
    /// A message, unique in its session: all deltas under one id belong to one message.
    MessageId
);
id!(
    /// A tool call, unique in its session (`tool_0`, `tool_1`, …). Never the provider's id.
    ToolCallId
);
id!(
    /// The turn of one prompt, counted per session from `run_1`.
    TurnId
);

id!(
    /// A compaction of a conversation, counted per session from `compaction_1`.
    CompactionId
);

/// A prompt as its client names it, so that a repeated request is recognised: 1 to 128 visible
/// ASCII characters, usually a UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PromptId(String);

/// A text that is no [`PromptId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a prompt id has 1 to {PROMPT_ID_CHARS} visible ASCII characters")]
pub struct NotAPromptId;

impl PromptId {
    /// Checks an id.
    pub fn new(id: impl Into<String>) -> Result<Self, NotAPromptId> {
        let id = id.into();
        let fits =
            (1..=PROMPT_ID_CHARS).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(id)) } else { Err(NotAPromptId) }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SessionId {
    /// Creates a new id; later ids sort after earlier ones.
    pub fn fresh() -> Self {
        Self(uuid::Uuid::now_v7().to_string())
    }

    /// Returns the random part of the id, which names the session's directory of temporary files.
    /// The path of a Unix socket has 107 bytes at most, and programs put theirs in such a
    /// directory.
    pub(crate) fn directory_name(&self) -> &str {
        self.0.splitn(4, '-').last().unwrap_or(&self.0)
    }
}
