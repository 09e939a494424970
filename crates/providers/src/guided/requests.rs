//! Requests to the guided model, and the events that its own stream consists of.

use agent::{LanguageModel, Message, ModelError, ModelEvent, ModelRequest, ModelStop, ToolSpecs, Usage};
use futures::{StreamExt, channel::mpsc::UnboundedSender};
use serde_json::{Value, json};
use std::sync::Arc;

/// Tokens of an answer that chooses from a list.
const CHOICE_TOKENS: u64 = 256;

/// The system prompt of all requests but those that sort a prompt or read its names.
pub(super) const SYSTEM: &str =
    "You are Tiller, a coding agent. You work on the user's project. <files> and <file> show it.\n";

/// Sends requests to the model, and events to the receiver of the guided stream.
pub(super) struct Requests {
    model: Arc<dyn LanguageModel>,
    request: ModelRequest,
    events: UnboundedSender<Result<ModelEvent, ModelError>>,
    /// The tokens of finished requests.
    spent: Usage,
    calls: usize,
    /// Why the answer ends if it makes no calls.
    stop: ModelStop,
}

impl Requests {
    /// Creates the requests for one answer; `request` is the one that the turn made.
    pub(super) fn new(
        model: Arc<dyn LanguageModel>,
        request: ModelRequest,
        events: UnboundedSender<Result<ModelEvent, ModelError>>,
    ) -> Self {
        Self { model, request, events, spent: Usage::default(), calls: 0, stop: ModelStop::EndTurn }
    }

    /// The conversation of the turn's request.
    pub(super) fn messages(&self) -> &[Message] {
        &self.request.messages
    }

    /// How many calls the answer makes so far.
    pub(super) fn calls(&self) -> usize {
        self.calls
    }

    /// Asks for a text of at most `most` tokens, which is not shown to the user.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) async fn ask(&mut self, messages: Vec<Message>, most: u64) -> Result<String, ModelError> {
        let most = most.min(self.model.info().limits.max_output);
        self.send(SYSTEM, messages, None, most, false).await
    }

    /// Asks for an answer that matches a JSON Schema. `None` if it is no JSON.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) async fn ask_json(
        &mut self,
        system: &str,
        messages: Vec<Message>,
        schema: Value,
    ) -> Result<Option<Value>, ModelError> {
        let text = self.send(system, messages, Some(schema), CHOICE_TOKENS, false).await?;
        Ok(serde_json::from_str(&text).ok())
    }

    /// Has the model choose from a list, at most `most`, each once. Empty if its answer cannot be
    /// read.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) async fn choose(
        &mut self,
        messages: Vec<Message>,
        key: &str,
        choices: &[String],
        most: usize,
    ) -> Result<Vec<String>, ModelError> {
        let items = json!({ "type": "array", "items": { "enum": choices }, "minItems": 1, "maxItems": most });
        let read = self.ask_json(SYSTEM, messages, object(key, items)).await?;
        let list = read.as_ref().and_then(|read| read.get(key)?.as_array().cloned()).unwrap_or_default();
        let mut chosen: Vec<String> = Vec::new();
        for name in list.iter().filter_map(Value::as_str) {
            // A server that ignores schemas lets the model write anything.
            if choices.iter().any(|choice| choice == name) && !chosen.iter().any(|known| known == name) {
                chosen.push(name.to_owned());
            }
        }
        Ok(chosen)
    }

    /// Asks for a text of at most `most` tokens, which the user sees as it comes.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) async fn stream_answer(
        &mut self,
        messages: Vec<Message>,
        most: u64,
    ) -> Result<(), ModelError> {
        self.send(SYSTEM, messages, None, most, true).await.map(drop)
    }

    async fn send(
        &mut self,
        system: &str,
        messages: Vec<Message>,
        schema: Option<Value>,
        most: u64,
        is_shown: bool,
    ) -> Result<String, ModelError> {
        let request = ModelRequest {
            system: system.to_owned(),
            messages,
            tools: ToolSpecs::default(),
            max_output: Some(self.request.max_output.unwrap_or(u64::MAX).min(most)),
            answer_schema: schema,
            ..self.request.clone()
        };
        let mut answer = String::new();
        let mut used = Usage::default();
        let mut stream = self.model.stream(request);
        while let Some(event) = stream.next().await {
            match event? {
                ModelEvent::Text(text) => {
                    answer.push_str(&text);
                    self.emit(Ok(if is_shown { ModelEvent::Text(text) } else { ModelEvent::Alive }));
                }
                ModelEvent::Usage(usage) => {
                    used = usage;
                    let mut all = self.spent;
                    all += used;
                    self.emit(Ok(ModelEvent::Usage(all)));
                }
                ModelEvent::Stop(stop) if is_shown => self.stop = stop,
                event @ (ModelEvent::Alive
                | ModelEvent::Retrying { .. }
                | ModelEvent::Notice(_)
                | ModelEvent::Reasoning(_)) => self.emit(Ok(event)),
                // Without tools there are no calls, and other models' items are of no use here.
                _ => {}
            }
        }
        self.spent += used;
        Ok(answer)
    }

    /// Adds a call to the answer.
    pub(super) fn call(&mut self, name: &str, arguments: &Value) {
        self.calls += 1;
        self.emit(Ok(ModelEvent::call(format!("guided-{}", self.calls), name, arguments)));
    }

    /// Adds text to the answer.
    pub(super) fn say(&self, text: impl Into<String>) {
        self.emit(Ok(ModelEvent::Text(text.into())));
    }

    /// Ends the answer.
    pub(super) fn end(&self, result: Result<(), ModelError>) {
        let stop = if self.calls > 0 { ModelStop::ToolCalls } else { self.stop };
        self.emit(result.map(|()| ModelEvent::Stop(stop)));
    }

    fn emit(&self, event: Result<ModelEvent, ModelError>) {
        // The receiver is gone only if the stream is dropped, and then this is, too.
        let _ = self.events.unbounded_send(event);
    }
}

/// The JSON Schema of an object with one required member.
pub(super) fn object(key: &str, member: Value) -> Value {
    json!({
        "type": "object",
        "properties": { key: member },
        "required": [key],
        "additionalProperties": false,
    })
}
