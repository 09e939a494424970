//! The seam to language models: a request in, a stream of events out.

use crate::{
    AnsweredCall, Content, Cost, Item, ModelCall, Price, Reasoning, Text, ToolSpecs, item, limits::MODEL_WAIT,
};
use async_trait::async_trait;
use futures::stream::BoxStream;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// A language model behind a wire, or something that stands in for one.
///
/// Contract: the stream yields events in the order the model produced them and ends after [`ModelEvent::Stop`] or an error. Retries of
/// requests that failed before the first event are the implementation's; it tells of each with [`ModelEvent::Retrying`]. Dropping
/// the stream cancels the request. An item is yielded only when whole, but for text and reasoning, which come in pieces.
pub trait LanguageModel: Send + Sync {
    /// What is known of the model.
    fn info(&self) -> &ModelInfo;

    /// Asks the model.
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>>;
}

/// Where models come from: every configured provider, loopback servers, the built-in pilot.
#[async_trait]
pub trait Models: Send + Sync {
    /// The models that can be chosen now, the default first. Never fails and never waits for a network.
    fn list(&self) -> Vec<ModelInfo>;

    /// The id of the model for a session that names none. May wait a bounded, short time for loopback servers to be found.
    async fn default_id(&self) -> String;

    /// Whether nobody has set a model up, so that [`Models::default_id`] is one that stands in for
    /// a language model. May wait as that does.
    async fn is_unconfigured(&self) -> bool {
        false
    }

    /// The model with an id such as `openai/gpt-5`, `anthropic/claude-…`, `local/…`, `offline/pilot`, `replay/FILE`. An id that
    /// is not listed still works when its provider is known: providers have more models than any list.
    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError>;

    /// Whether a model's provider would let us in, as far as the settings tell; asks nobody and waits for nothing.
    fn credentials(&self, _id: &str) -> Credentials {
        Credentials::NotNeeded
    }
}

/// [`Models::get`] with a limit: a model that cannot be got at must not hold up whoever wants it.
pub(crate) async fn get_in_time(models: &dyn Models, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
    tokio::time::timeout(MODEL_WAIT, models.get(id)).await.unwrap_or_else(|_| {
        let seconds = MODEL_WAIT.as_secs();
        Err(ModelError::Transport(format!(
            "the model {id} could not be got at within {seconds} s; try again"
        )))
    })
}

/// How we stand with a model's provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credentials {
    /// It asks for none: the built-in model, a recording, a server on this machine or behind an address of the user's own.
    NotNeeded,
    /// There is a key for it. Whether the provider takes it shows at the first request.
    Present,
    /// It wants a key and there is none.
    Missing,
}

/// What is known of a model. New fields come over time: make one with `..ModelInfo::default()`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelInfo {
    /// The full id, `provider/name`.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// What a person should know before choosing it, in a sentence; the pilot says here that it is no language model.
    pub description: Option<String>,
    /// Tokens of context.
    pub context_size: u64,
    /// The most tokens of one answer.
    pub max_output: u64,
    /// Whether it takes images.
    pub images: bool,
    /// A line a session on this model begins its first answer with: set for stand-ins that are no language model.
    pub disclosure: Option<String>,
    /// What its tokens cost; `None` where that is not known, as for servers of the user's own.
    pub price: Option<Price>,
    /// The efforts it can be asked for, by the vendor's ids (`none`, `minimal`, `low`, `medium`, `high`,
    /// `xhigh`, `max`), the lowest first; empty where it has none or none are known.
    pub efforts: Vec<String>,
    /// The field of a Chat Completions message that its reasoning stands in and goes back in, such as
    /// `reasoning_content` or `reasoning_details`; `None` where it has none or it is not known.
    pub reasoning_field: Option<String>,
    /// Whether it is known to make tool calls the way its wire has them. `false` where that is not
    /// known: small models on this machine often write calls as text.
    pub native_calls: bool,
    /// How many tools, with how long descriptions, it can be given.
    pub profile: ToolProfile,
    /// Its size in parameters, where the server or the name tells.
    pub parameters: Option<u64>,
    /// How long its server may send nothing before the implementation ends the stream with an error;
    /// `None` where the implementation does not watch that itself.
    pub silence: Option<Duration>,
}

/// How many tools a model can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolProfile {
    /// All that are listed.
    #[default]
    Full,
    /// The few most needed, with short descriptions: for models of few parameters or little context.
    Small,
    /// The same as [`ToolProfile::Small`], and the implementation guides the model: it asks for one
    /// narrow task after the other and makes the calls itself. For models of very few parameters,
    /// which cannot use tools on their own.
    Guided,
}

impl ToolProfile {
    /// All profiles, with their names in settings.
    pub const ALL: [(&'static str, Self); 3] =
        [("full", Self::Full), ("small", Self::Small), ("guided", Self::Guided)];

    /// Its word in settings.
    pub fn id(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Small => "small",
            Self::Guided => "guided",
        }
    }
}

/// A request to a model. The whole conversation goes along each time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// The system prompt.
    pub system: String,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// The tools it may call.
    pub tools: ToolSpecs,
    /// The most tokens of the answer; the model's own limit when `None`.
    pub max_output: Option<u64>,
    /// How hard it should think: `low`, `medium`, `high`, `xhigh`, `max`; the provider's default when `None`. A level that the model
    /// does not have becomes the highest below it that it has.
    pub reasoning_effort: Option<String>,
    /// A stable key for the provider's prompt cache: the session's id.
    pub cache_key: Option<String>,
    /// JSON Schema, an object, that the text of the answer should follow. Where the server does not
    /// take one, the answer comes without it: whoever asks must bear an answer of any form.
    pub answer_schema: Option<Value>,
}

/// A message of the conversation, as models see it.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// From the user. Texts, images; resources are already turned into text.
    User(Vec<Content>),
    /// From the model, with each call's result: a call without one cannot be expressed.
    Assistant(AssistantMessage),
}

/// An answer of the model with the results of its calls.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistantMessage {
    /// The model that made it: it alone is sent back what only it understands.
    pub model: String,
    /// What it is made of, in the order in which the model gave it, each call with its result.
    pub items: Vec<Item<AnsweredCall>>,
    /// Whether something before it is no longer sent as it was when the model wrote it: a summary
    /// stands there now, or results were left out. Some vendors bind reasoning to all that stood
    /// before it and refuse it anywhere else.
    pub prefix_changed: bool,
}

impl AssistantMessage {
    /// An answer that is one text.
    pub fn said(model: impl Into<String>, text: impl Into<String>) -> Self {
        let items = vec![Item::Text(Text::plain(text))];
        Self { model: model.into(), items, prefix_changed: false }
    }

    /// An answer that is nothing but calls.
    pub fn called(model: impl Into<String>, calls: impl IntoIterator<Item = AnsweredCall>) -> Self {
        let items = calls.into_iter().map(Item::Call).collect();
        Self { model: model.into(), items, prefix_changed: false }
    }

    /// Its text, as a person reads it; may be empty.
    pub fn text(&self) -> String {
        item::text_of(&self.items)
    }

    /// Its calls, each with its result, in order.
    pub fn calls(&self) -> impl DoubleEndedIterator<Item = &AnsweredCall> {
        item::calls_of(&self.items)
    }

    /// Its calls, to be changed.
    pub(crate) fn calls_mut(&mut self) -> impl Iterator<Item = &mut AnsweredCall> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Whether it has calls.
    pub fn has_calls(&self) -> bool {
        self.calls().next().is_some()
    }
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it does and how to use it.
    pub description: String,
    /// JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// What a model sends back.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The request failed before an answer began and is tried again.
    Retrying {
        /// Which try comes next, from 2.
        attempt: u32,
        /// After how long.
        after: Duration,
        /// Why, in words.
        reason: String,
    },
    /// More text.
    Text(String),
    /// The text that came since the last one was complete is an item of its own, with the wire's own
    /// form of it. What follows begins another paragraph. Without it all text is one item, which
    /// stands where it began.
    TextDone(Option<String>),
    /// More reasoning for people to read.
    Reasoning(String),
    /// A block of reasoning is complete; its text repeats what was streamed.
    ReasoningDone(Reasoning),
    /// A whole tool call. It may come before the answer is over; calls of an answer that broke off are
    /// not run.
    ToolCall(ModelCall),
    /// An item that means nothing outside its wire, in the wire's own form.
    Other(String),
    /// Tokens used by this request so far; the last one counts. Wires leave its money out: it is
    /// added from [`ModelInfo::price`].
    Usage(Usage),
    /// The server sent something that is no part of the answer, such as a ping: it is still at work.
    Alive,
    /// What the provider has to say to the user beside the answer, such as why it refused: a whole
    /// sentence. It is no part of the conversation.
    Notice(String),
    /// The answer is complete.
    Stop(ModelStop),
}

impl ModelEvent {
    /// A whole tool call with these arguments.
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
    /// It had no more to say.
    EndTurn,
    /// It waits for the results of its calls.
    ToolCalls,
    /// The output limit was reached.
    MaxTokens,
    /// It refused, or a filter did.
    Refusal,
}

/// Tokens, and what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens in, those from the cache included.
    pub input: u64,
    /// Tokens out, reasoning included.
    pub output: u64,
    /// Of the tokens in, those read from the provider's cache.
    pub cache_read: u64,
    /// Of the tokens in, those written to the provider's cache.
    pub cache_write: u64,
    /// What the tokens cost whose price is known; `None` where that is none of them.
    pub cost: Option<Cost>,
    /// Tokens whose price is not known, in and out: [`Usage::cost`] leaves them out.
    pub unpriced: u64,
}

impl Usage {
    /// The same tokens of one request with what they cost; without a price they count as unpriced.
    #[must_use]
    pub fn priced(self, price: Option<&Price>) -> Self {
        match price {
            Some(price) => Self { cost: Some(price.of(self)), unpriced: 0, ..self },
            None => Self { cost: None, unpriced: self.all(), ..self },
        }
    }

    /// All tokens, each once.
    pub fn all(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Tokens in that had nothing to do with the provider's cache.
    pub fn fresh_input(self) -> u64 {
        self.input.saturating_sub(self.cache_read).saturating_sub(self.cache_write)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.unpriced += other.unpriced;
        self.cost = match (self.cost, other.cost) {
            (Some(before), Some(more)) => Some(before.plus(more)),
            (before, more) => before.or(more),
        };
    }
}

/// Why a model did not answer. Messages say what to do next and never hold a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// No provider or model of that name, or its settings do not suffice.
    #[error("{0}")]
    NotConfigured(String),
    /// There are no credentials, or none that can be sent, or the provider refused them (401, 403).
    #[error("{0}")]
    Auth(String),
    /// The request itself is wrong (400, 404, 413, 422); trying again does not help.
    #[error("{0}")]
    BadRequest(String),
    /// The conversation is longer than the model's context.
    #[error("{0}")]
    ContextOverflow(String),
    /// Too many requests, or overloaded, for longer than the retries lasted.
    #[error("{0}")]
    Overloaded(String),
    /// The connection failed, was cut in the middle of an answer, or was idle for too long.
    #[error("{0}")]
    Transport(String),
    /// The provider answered with something that is no answer.
    #[error("{0}")]
    BadResponse(String),
    /// The answer grew past [`ANSWER_BYTES`](crate::ANSWER_BYTES); what came before is the answer.
    #[error("the answer is longer than {} MiB and was cut off; ask for less at a time", crate::ANSWER_BYTES >> 20)]
    AnswerTooLong,
}
