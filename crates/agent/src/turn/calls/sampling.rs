//! MCP sampling: a server's request to the session's model during one of its calls. It is approved,
//! shown and recorded like a call.

use crate::{
    Access, AnyCall, AnyTool, Content, Description, Effect, LanguageModel, Message, ModelEvent, ModelRequest,
    ModelStop, SAMPLING, SampleRequest, Sampled, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput,
    ToolSpec, Usage, event::item::Paragraphs, model::bounded, text::sanitise::one_line,
};
use async_trait::async_trait;
use futures::StreamExt as _;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    sync::{Arc, Mutex, PoisonError},
};
use system::AbsPath;

/// Characters of the request's text in a title.
const TITLE_CHARS: usize = 80;

/// Tokens used by MCP sampling in the running round.
pub(crate) type Spent = Arc<Mutex<Usage>>;

/// A sampling request, both as a tool and as its call.
#[derive(Clone)]
pub(crate) struct Sampling {
    request: Arc<SampleRequest>,
    function: String,
    model: Arc<dyn LanguageModel>,
    spent: Spent,
    answer: Arc<Mutex<Option<Sampled>>>,
}

impl Sampling {
    pub(crate) fn new(request: SampleRequest, model: Arc<dyn LanguageModel>, spent: Spent) -> Self {
        let function = format!("mcp__{}__{SAMPLING}", request.server);
        Self { request: Arc::new(request), function, model, spent, answer: Arc::default() }
    }

    /// Returns the arguments that are shown to clients.
    pub(crate) fn arguments(&self) -> Value {
        json!({ "server": self.request.server, "max_tokens": self.request.max_output })
    }

    /// Takes the answer, once the call has succeeded.
    pub(crate) fn take(&self) -> Option<Sampled> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn ask(&self) -> Result<Sampled, ToolError> {
        let SampleRequest { system, messages, max_output, .. } = &*self.request;
        let info = self.model.info();
        let images = info.abilities.images;
        let request = ModelRequest {
            system: system.clone(),
            messages: messages.iter().map(|message| shown_message(message, images)).collect(),
            max_output: Some((*max_output).min(info.limits.max_output)),
            ..ModelRequest::default()
        };
        let mut sampled = Sampled { model: info.id.clone(), text: String::new(), stop: ModelStop::EndTurn };
        let (mut usage, mut paragraphs) = (Usage::default(), Paragraphs::default());
        let mut stream = bounded::ask(self.model.as_ref(), request);
        let stop = loop {
            match stream.next().await {
                None => break Err(ToolError::message("the model's answer ended in the middle")),
                Some(Err(error)) => break Err(ToolError::message(error.to_string())),
                Some(Ok(ModelEvent::Stop(stop))) => break Ok(stop),
                Some(Ok(ModelEvent::TextDone(_))) => paragraphs.end(),
                Some(Ok(ModelEvent::Text(text))) => {
                    sampled.text.push_str(paragraphs.push(&text));
                    sampled.text.push_str(&text);
                }
                Some(Ok(ModelEvent::Usage(now))) => usage = now,
                // The model has no tools to call, and its reasoning is not for servers.
                Some(Ok(_)) => {}
            }
        };
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner) += usage;
        sampled.stop = stop?;
        Ok(sampled)
    }
}

/// Replaces the images of a message by text if the model takes none.
fn shown_message(message: &Message, images: bool) -> Message {
    match message {
        Message::User(content) if !images => {
            let without = content.iter().map(|item| match item {
                Content::Image { mime_type, .. } => Content::text(format!("[image, {mime_type}, left out]")),
                other => other.clone(),
            });
            Message::User(without.collect())
        }
        other => other.clone(),
    }
}

/// Renders a message for the user.
fn shown(message: &Message) -> String {
    match message {
        Message::Assistant(answer) => format!("[as the assistant] {}", answer.text()),
        Message::User(content) => {
            let words = content.iter().map(|item| match item {
                Content::Text(text) => text.clone(),
                Content::Image { mime_type, .. } => format!("[image, {mime_type}]"),
                _ => "[something else]".to_owned(),
            });
            words.collect::<Vec<_>>().join("\n")
        }
    }
}

impl AnyTool for Sampling {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.function.clone(), description: String::new(), parameters: json!({}) }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.function)
    }

    fn effect(&self) -> Effect {
        Effect::Session
    }

    fn parse(&self, _arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl AnyCall for Sampling {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let last = self.request.messages.last().map(shown).unwrap_or_default();
        let asked: String = one_line(&last).chars().take(TITLE_CHARS).collect();
        let title = format!("{} asks the model: {asked}", self.request.server);
        Description { title, kind: ToolKind::Think, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        // Not read-only: it costs the user tokens.
        vec![Access::Call { function: self.function.clone(), read_only: false }]
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        let SampleRequest { system, messages, .. } = &*self.request;
        let system = (!system.is_empty()).then(|| format!("[instructions] {system}"));
        let texts: Vec<_> = system.into_iter().chain(messages.iter().map(shown)).collect();
        let text = crate::tools::cap(texts.join("\n\n"), &cx.limits);
        Ok(vec![ToolContent::Content(Content::text(text))])
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let sampled = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled(None)),
            sampled = self.ask() => sampled?,
        };
        let output = ToolOutput::text(sampled.text.clone());
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(sampled);
        Ok(output)
    }
}
