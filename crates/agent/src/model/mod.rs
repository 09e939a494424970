//! The interface to language models: a request in, a stream of events out.

pub(crate) mod bounded;
mod image;
mod info;
pub(crate) mod span;

pub use image::{IMAGE_BYTES, ImageFault, readable_image, sendable_image};
pub use info::{ModelAbilities, ModelDialect, ModelInfo, ModelLimits, ToolProfile};

use crate::{
    AnsweredCall, Content, Item, ModelCall, NotAdmitted, Reasoning, Text, ToolSpecs, Usage, event::item,
    limits::MODEL_WAIT,
};
use async_trait::async_trait;
use futures::stream::BoxStream;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// A language model behind a wire protocol, or a stand-in for one.
///
/// Contract: the stream yields events in the order the model produced them and ends after
/// [`ModelEvent::Stop`] or an error. The implementation retries requests that failed before the
/// first event and reports each retry with [`ModelEvent::Retrying`]. Dropping the stream cancels
/// the request. Items are yielded only when complete, except text and reasoning, which come in
/// deltas.
pub trait LanguageModel: Send + Sync {
    /// Returns the properties of the model.
    fn info(&self) -> &ModelInfo;

    /// Sends a request to the model.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}

/// The source of models: every configured provider, loopback servers, the built-in pilot.
#[async_trait]
pub trait Models: Send + Sync {
    /// Returns the models that can be chosen now, the default first. Never fails and never waits
    /// for the network.
    fn list(&self) -> Vec<ModelInfo>;

    /// Returns the model id for a session that names none. May wait a bounded, short time while
    /// loopback servers are looked for.
    async fn default_id(&self) -> String;

    /// Returns whether no model is configured, so that [`Models::default_id`] is a stand-in for a
    /// language model. May wait as long as that method.
    async fn is_unconfigured(&self) -> bool {
        false
    }

    /// Returns the model with an id such as `openai/gpt-5`, `anthropic/claude-…`, `local/…`,
    /// `offline/pilot` or `replay/FILE`. An unlisted id works as well if its provider is known:
    /// providers have more models than any list.
    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError>;

    /// Looks again for models on this machine, whose servers come and go; [`Models::list`] has them
    /// from then on. Sends nothing to another machine. Takes at most about a second.
    async fn look_again(&self) {}

    /// Returns the first model of each vendor that [`Models::list`] leaves out for want of a key.
    fn without_key(&self) -> Vec<ModelInfo> {
        Vec::new()
    }

    /// Returns whether credentials for a model's provider are configured. Reads the settings only;
    /// sends no request and does not wait.
    fn credentials(&self, _id: &str) -> Credentials {
        Credentials::NotNeeded
    }
}

/// Calls [`Models::get`] with a timeout, so that a model that cannot be reached does not block the
/// caller.
pub(crate) async fn get_in_time(models: &dyn Models, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
    tokio::time::timeout(MODEL_WAIT, models.get(id)).await.unwrap_or_else(|_| {
        let seconds = MODEL_WAIT.as_secs();
        Err(ModelError::Transport(format!(
            "the model {id} could not be reached within {seconds} s; try again"
        )))
    })
}

/// Whether there are credentials for a model's provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// None are needed: the built-in model, a recording, a server on this machine or at an address
    /// that the user configured.
    NotNeeded,
    /// There is a key. Whether the provider accepts it shows at the first request.
    Present,
    /// There is a key, and the provider refused it with the last request.
    Refused,
    /// A key is needed and there is none.
    Missing,
}

/// A request to a model. Each request carries the whole conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: ToolSpecs,
    /// The maximum size of the answer in tokens; `None` means the model's own limit.
    pub max_output: Option<u64>,
    /// The reasoning effort: `low`, `medium`, `high`, `xhigh` or `max`; `None` means the provider's
    /// default. A level that the model does not have becomes its highest level below that.
    pub reasoning_effort: Option<String>,
    /// A stable key for the provider's prompt cache: the session's id.
    pub cache_key: Option<String>,
    /// JSON Schema, an object, that the text of the answer should follow. It has no effect on
    /// servers without schema support, so callers must accept an answer of any form.
    pub answer_schema: Option<Value>,
}

/// A message of the conversation, as models see it.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// From the user: texts and images; resources are already turned into text.
    User(Vec<Content>),
    /// From the model, with each call's result: a call without a result cannot be expressed.
    Assistant(AssistantMessage),
}

/// An answer of the model with the results of its calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistantMessage {
    /// The model that made it. Opaque parts are sent back to this model only.
    pub model: String,
    /// Its items in the model's order, each call with its result.
    pub items: Vec<Item<AnsweredCall>>,
    /// Whether a message before it is no longer sent as it was when the model wrote this answer: it
    /// was replaced by a summary, or results were left out. Some vendors bind reasoning to
    /// everything before it and reject it otherwise.
    pub prefix_changed: bool,
}

impl AssistantMessage {
    /// Creates an answer of a single text.
    pub fn from_text(model: impl Into<String>, text: impl Into<String>) -> Self {
        let items = vec![Item::Text(Text::plain(text))];
        Self { model: model.into(), items, prefix_changed: false }
    }

    /// Creates an answer that has only calls.
    pub fn called(model: impl Into<String>, calls: impl IntoIterator<Item = AnsweredCall>) -> Self {
        let items = calls.into_iter().map(Item::Call).collect();
        Self { model: model.into(), items, prefix_changed: false }
    }

    /// Returns its text for display; may be empty.
    pub fn text(&self) -> String {
        item::text_of(&self.items)
    }

    /// Returns its calls, each with its result, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &AnsweredCall> {
        item::calls_of(&self.items)
    }

    /// Returns its calls for modification.
    pub(crate) fn calls_mut(&mut self) -> impl Iterator<Item = &mut AnsweredCall> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Returns whether it has calls.
    pub fn has_calls(&self) -> bool {
        self.calls().next().is_some()
    }
}

/// An event of a model's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The request failed before an answer began and is retried.
    Retrying {
        /// The number of the next attempt, from 2.
        attempt: u32,
        /// The delay before it.
        after: Duration,
        /// The reason, for display.
        reason: String,
        /// Whether the provider limits requests, so that others to it would be refused as well.
        limited: bool,
    },
    /// More text.
    Text(String),
    /// The text since the last completed one is an item of its own; the value is its opaque form.
    /// The text that follows begins another paragraph. Without this event all text is one item, at
    /// the position where it began.
    TextDone(Option<String>),
    /// More reasoning, for display.
    Reasoning(String),
    /// A block of reasoning is complete; its text repeats the deltas.
    ReasoningDone(Reasoning),
    /// A complete tool call. It may come before the answer ends; calls of an answer that broke off
    /// are not run.
    ToolCall(ModelCall),
    /// An item that only its wire protocol understands, in its opaque form.
    Other(String),
    /// The provider searched the web for this query while it answered. The search and its results
    /// are items of their own ([`ModelEvent::Other`]); this is for display.
    HostedSearch(String),
    /// Tokens used by this request so far; the last such event counts. Implementations leave the
    /// cost out: it is added from [`ModelInfo::price`].
    Usage(Usage),
    /// The server sent something that is not part of the answer, such as a ping: it is still
    /// working.
    Alive,
    /// A message of the provider to the user beside the answer, such as why it refused: a whole
    /// sentence. Not part of the conversation.
    Notice(String),
    /// The answer is complete.
    Stop(ModelStop),
}

impl ModelEvent {
    /// Creates a complete tool call with these arguments.
    pub fn call(provider_id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        Self::ToolCall(ModelCall {
            provider_id: provider_id.into(),
            name: name.into(),
            arguments: arguments.to_string(),
            opaque: None,
        })
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelStop {
    /// The answer is complete.
    EndTurn,
    /// It waits for the results of its calls.
    ToolCalls,
    /// The output limit was reached.
    MaxTokens,
    /// The model or a content filter refused.
    Refusal,
}

/// Why a model did not answer. Messages state what to do next and never contain a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// There is no such provider or model, or its settings are insufficient.
    #[error("{0}")]
    NotConfigured(String),
    /// Credentials are missing, cannot be sent, or were rejected by the provider (401, 403).
    #[error("{0}")]
    Auth(String),
    /// The request is invalid (400, 404, 413, 422); a retry does not help.
    #[error("{0}")]
    BadRequest(String),
    /// The conversation is longer than the model's context.
    #[error("{0}")]
    ContextOverflow(String),
    /// Rate limited or overloaded for longer than the retries lasted.
    #[error("{0}")]
    Overloaded(String),
    /// The connection failed, broke off during an answer, or was idle for too long.
    #[error("{0}")]
    Transport(String),
    /// The provider's response is not a valid answer.
    #[error("{0}")]
    BadResponse(String),
    /// The answer exceeded [`ANSWER_BYTES`](crate::ANSWER_BYTES); what came before is the answer.
    #[error("the answer is longer than {} MiB and was cut off; ask for less at a time", crate::ANSWER_BYTES >> 20)]
    AnswerTooLong,
    /// The operator of the runtime does not let the request begin.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
}
