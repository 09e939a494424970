//! The file format of a recording. It has its own types, so that the domain's can change
//! independently.
//!
//! | version | written by | read by |
//! |---|---|---|
//! | 1 | 0.1 | 0.1 |
//! | 2 | 0.1 | 0.1 |
//!
//! Version 2 stores calls as the model wrote them, and the wires' own forms of items.

use agent::{
    Message, ModelCall, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStop, Reasoning, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// The version that this build writes, and the newest it reads.
pub(super) const VERSION: u32 = 2;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    /// The format version.
    pub(super) tiller_recording: u32,
    pub(super) model: String,
    pub(super) context_size: u64,
    pub(super) max_output: u64,
    pub(super) images: bool,
}

impl Header {
    pub(super) fn new(info: &ModelInfo) -> Self {
        Self {
            tiller_recording: VERSION,
            model: info.id.clone(),
            context_size: info.limits.context_size,
            max_output: info.limits.max_output,
            images: info.abilities.images,
        }
    }
}

/// Each further line: a summary of the request, and its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Exchange {
    /// A summary of the request, for people who read the file.
    pub(super) request: RequestSummary,
    pub(super) events: Vec<Event>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Failed>,
    /// Whether the reader was dropped before the end of the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cut: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RequestSummary {
    messages: usize,
    tools: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompt: Option<String>,
}

impl RequestSummary {
    pub(super) fn new(request: &ModelRequest) -> Self {
        let prompt = request.messages.iter().rev().find_map(|message| match message {
            Message::User(content) => content.iter().find_map(|content| match content {
                agent::Content::Text(text) => Some(text.chars().take(200).collect()),
                _ => None,
            }),
            Message::Assistant(_) => None,
        });
        Self { messages: request.messages.len(), tools: request.tools.len(), prompt }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    Retrying {
        attempt: u32,
        after_ms: u64,
        reason: String,
    },
    Text {
        text: String,
    },
    Reasoning {
        text: String,
    },
    ReasoningDone {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    /// Version 2.
    TextDone {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    /// Version 2: a call as the model wrote it.
    Call {
        id: String,
        name: String,
        arguments: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    /// Version 2.
    Other {
        opaque: String,
    },
    /// Version 2.
    HostedSearch {
        query: String,
    },
    /// Version 1 only.
    ToolCall {
        id: String,
        name: String,
        arguments: Value,
    },
    /// Version 1 only.
    MalformedToolCall {
        id: String,
        name: String,
        raw: String,
        error: String,
    },
    Usage {
        input: u64,
        output: u64,
        cache_read: u64,
        cache_write: u64,
    },
    Notice {
        text: String,
    },
    Stop {
        reason: Stop,
    },
}

impl Event {
    /// Returns the text, if the event is a piece of a longer text.
    pub(super) fn piece(&self) -> Option<&str> {
        match self {
            Self::Text { text } | Self::Reasoning { text } => Some(text),
            _ => None,
        }
    }

    /// Returns whether another event is a piece of the same text.
    pub(super) fn same_stream(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }

    /// Returns an event of the same kind with another text.
    pub(super) fn with_text(&self, text: String) -> Self {
        match self {
            Self::Reasoning { .. } => Self::Reasoning { text },
            _ => Self::Text { text },
        }
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stop {
    EndTurn,
    ToolCalls,
    MaxTokens,
    Refusal,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Failed {
    kind: Kind,
    message: String,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    NotConfigured,
    Auth,
    BadRequest,
    ContextOverflow,
    Overloaded,
    Transport,
    BadResponse,
    AnswerTooLong,
}

impl Event {
    /// Converts an event; `None` for those that are not recorded.
    pub(super) fn of(event: &ModelEvent) -> Option<Self> {
        Some(match event.clone() {
            ModelEvent::Alive => return None,
            ModelEvent::Retrying { attempt, after, reason, .. } => Self::Retrying {
                attempt,
                after_ms: u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
                reason,
            },
            ModelEvent::Text(text) => Self::Text { text },
            ModelEvent::Reasoning(text) => Self::Reasoning { text },
            ModelEvent::ReasoningDone(Reasoning { text, opaque }) => Self::ReasoningDone { text, opaque },
            ModelEvent::TextDone(opaque) => Self::TextDone { opaque },
            ModelEvent::ToolCall(ModelCall { provider_id: id, name, arguments, opaque }) => {
                Self::Call { id, name, arguments, opaque }
            }
            ModelEvent::Other(opaque) => Self::Other { opaque },
            ModelEvent::HostedSearch(query) => Self::HostedSearch { query },
            ModelEvent::Usage(Usage { input, output, cache_read, cache_write, .. }) => {
                Self::Usage { input, output, cache_read, cache_write }
            }
            ModelEvent::Notice(text) => Self::Notice { text },
            ModelEvent::Stop(stop) => Self::Stop {
                reason: match stop {
                    ModelStop::EndTurn => Stop::EndTurn,
                    ModelStop::ToolCalls => Stop::ToolCalls,
                    ModelStop::MaxTokens => Stop::MaxTokens,
                    ModelStop::Refusal => Stop::Refusal,
                },
            },
        })
    }
}

impl From<Event> for ModelEvent {
    fn from(event: Event) -> Self {
        match event {
            Event::Retrying { attempt, after_ms, reason } => {
                Self::Retrying { attempt, after: Duration::from_millis(after_ms), reason, limited: false }
            }
            Event::Text { text } => Self::Text(text),
            Event::Reasoning { text } => Self::Reasoning(text),
            Event::ReasoningDone { text, opaque } => Self::ReasoningDone(Reasoning { text, opaque }),
            Event::TextDone { opaque } => Self::TextDone(opaque),
            Event::Call { id, name, arguments, opaque } => {
                Self::ToolCall(ModelCall { provider_id: id, name, arguments, opaque })
            }
            Event::HostedSearch { query } => Self::HostedSearch(query),
            Event::Other { opaque } => Self::Other(opaque),
            Event::ToolCall { id, name, arguments } => Self::call(id, name, &arguments),
            Event::MalformedToolCall { id, name, raw, error: _ } => {
                Self::ToolCall(ModelCall { provider_id: id, name, arguments: raw, opaque: None })
            }
            Event::Usage { input, output, cache_read, cache_write } => {
                Self::Usage(Usage { input, output, cache_read, cache_write, ..Usage::default() })
            }
            Event::Notice { text } => Self::Notice(text),
            Event::Stop { reason } => Self::Stop(match reason {
                Stop::EndTurn => ModelStop::EndTurn,
                Stop::ToolCalls => ModelStop::ToolCalls,
                Stop::MaxTokens => ModelStop::MaxTokens,
                Stop::Refusal => ModelStop::Refusal,
            }),
        }
    }
}

impl From<&ModelError> for Failed {
    fn from(error: &ModelError) -> Self {
        let kind = match error {
            ModelError::NotConfigured(_) => Kind::NotConfigured,
            ModelError::Auth(_) => Kind::Auth,
            ModelError::BadRequest(_) => Kind::BadRequest,
            ModelError::ContextOverflow(_) => Kind::ContextOverflow,
            // A request that was not admitted does not reach a recorder.
            ModelError::Overloaded(_) | ModelError::NotAdmitted(_) => Kind::Overloaded,
            ModelError::Transport(_) => Kind::Transport,
            ModelError::BadResponse(_) => Kind::BadResponse,
            ModelError::AnswerTooLong => Kind::AnswerTooLong,
        };
        Self { kind, message: error.to_string() }
    }
}

impl From<Failed> for ModelError {
    fn from(failed: Failed) -> Self {
        let make: fn(String) -> Self = match failed.kind {
            Kind::NotConfigured => Self::NotConfigured,
            Kind::Auth => Self::Auth,
            Kind::BadRequest => Self::BadRequest,
            Kind::ContextOverflow => Self::ContextOverflow,
            Kind::Overloaded => Self::Overloaded,
            Kind::Transport => Self::Transport,
            Kind::BadResponse => Self::BadResponse,
            Kind::AnswerTooLong => |_| Self::AnswerTooLong,
        };
        make(failed.message)
    }
}
