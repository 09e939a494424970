//! A scripted model that fails the test on a conversation that no provider would accept.

use crate::{
    Content, LanguageModel, Message, ModelAbilities, ModelError, ModelEvent, ModelInfo, ModelLimits,
    ModelRequest, ModelStop, Models, Usage,
};
use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::Value;
use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

/// One answer of the script.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Yields these events in order.
    Events(Vec<Result<ModelEvent, ModelError>>),
    /// Yields these events, then never completes.
    Hang(Vec<ModelEvent>),
    /// Panics, as a bug would.
    Panic,
}

impl Reply {
    /// Creates an answer of one text that ends the turn.
    pub fn text(text: &str) -> Self {
        Self::ok(vec![ModelEvent::Text(text.to_owned()), Self::usage(), ModelEvent::Stop(ModelStop::EndTurn)])
    }

    /// Creates an answer that calls these tools.
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let calls = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| ModelEvent::call(format!("call_{index}"), *name, arguments));
        Self::ok(calls.chain([Self::usage(), ModelEvent::Stop(ModelStop::ToolCalls)]).collect())
    }

    /// Creates an answer that fails.
    pub fn error(error: ModelError) -> Self {
        Self::Events(vec![Err(error)])
    }

    /// Creates an answer of these events, in order.
    pub fn ok(events: Vec<ModelEvent>) -> Self {
        Self::Events(events.into_iter().map(Ok).collect())
    }

    fn usage() -> ModelEvent {
        ModelEvent::Usage(Usage { input: 10, output: 5, ..Usage::default() })
    }
}

/// A scripted model. It fails the test if it is asked more often than the script has answers, if a
/// conversation is illegal, or if it is dropped with answers left.
pub struct FakeModel {
    info: ModelInfo,
    script: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl FakeModel {
    /// Creates a model with the id `fake/model`.
    pub fn new(script: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        Self::with_info(
            ModelInfo {
                id: "fake/model".to_owned(),
                name: "Fake".to_owned(),
                description: None,
                limits: ModelLimits { context_size: 100_000, max_output: 4_096, silence: None },
                abilities: ModelAbilities { images: true, ..ModelAbilities::default() },
                disclosure: None,
                ..ModelInfo::default()
            },
            script,
        )
    }

    /// Creates a model with these properties, such as another id or a disclosure.
    pub fn with_info(info: ModelInfo, script: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        Arc::new(Self { info, script: Mutex::new(script.into_iter().collect()), requests: Mutex::default() })
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn next(&self) -> Reply {
        let next = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        next.expect("the model was asked more often than the test's script says")
    }
}

impl LanguageModel for FakeModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        check_request(&request);
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        match self.next() {
            Reply::Events(events) => futures::stream::iter(events).boxed(),
            Reply::Hang(events) => {
                futures::stream::iter(events.into_iter().map(Ok)).chain(futures::stream::pending()).boxed()
            }
            Reply::Panic => panic!("the model panicked, as the test wanted"),
        }
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        let left = self.script.lock().unwrap_or_else(PoisonError::into_inner).len();
        assert!(
            left == 0 || std::thread::panicking(),
            "{left} answers of the model's script were never asked for"
        );
    }
}

/// Checks what providers require of a request, and what this project requires beyond that.
///
/// # Panics
/// If a provider would reject the conversation.
pub fn check_request(request: &ModelRequest) {
    assert!(
        matches!(request.messages.first(), Some(Message::User(_))),
        "a conversation begins with the user"
    );
    match request.messages.last() {
        Some(Message::User(content)) => assert!(!content.is_empty(), "a user message says something"),
        Some(Message::Assistant(message)) => {
            assert!(message.has_calls(), "the model is asked again only after its calls were answered");
        }
        None => panic!("a conversation is never empty"),
    }
    for message in &request.messages {
        if let Message::Assistant(message) = message {
            assert!(!message.items.is_empty(), "an assistant message says or does something");
            let ids: HashSet<_> = message.calls().map(|call| &call.provider_id).collect();
            assert_eq!(ids.len(), message.calls().count(), "the ids of one answer's calls differ");
        }
    }
    let names: HashSet<_> = request.tools.iter().map(|tool| &tool.name).collect();
    assert_eq!(names.len(), request.tools.len(), "tool names are unique");
}

/// Returns the user's part of a message, without the briefings that Tiller puts before it.
pub fn said(content: &[Content]) -> &[Content] {
    const BRIEFING_TAGS: [&str; 8] = [
        "<environment>",
        "<environment_update>",
        "<instructions ",
        "<new_tools>",
        "<removed_tools>",
        "<background>",
        "<tasks>",
        "<goal>",
    ];
    let is_briefing = |piece: &&Content| match piece {
        Content::Text(text) => BRIEFING_TAGS.iter().any(|tag| text.starts_with(tag)),
        _ => false,
    };
    &content[content.iter().take_while(is_briefing).count()..]
}

/// A source of models with a single model.
pub struct FakeModels(pub Arc<dyn LanguageModel>);

#[async_trait]
impl Models for FakeModels {
    fn list(&self) -> Vec<ModelInfo> {
        vec![self.0.info().clone()]
    }

    async fn default_id(&self) -> String {
        self.0.info().id.clone()
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        if id == self.0.info().id {
            return Ok(self.0.clone());
        }
        Err(ModelError::NotConfigured(format!("no model {id}; there is {}", self.0.info().id)))
    }
}
