//! The span of a request to a model.

use super::{
    AssistantMessage, Message, ModelCall, ModelError, ModelEvent, ModelInfo, ModelRequest, ModelStop,
};
use crate::{
    AnsweredCall, Content, Item,
    spans::{SPANS, has_contents},
};
use serde_json::{Value, json};
use tracing::{Span, field::Empty};

/// The span of a request to a model. It ends when this is dropped.
pub(crate) struct ModelSpan {
    span: Span,
    /// The answer so far; `None` where spans have no contents.
    answer: Option<Vec<Value>>,
    stop: Option<&'static str>,
}

impl ModelSpan {
    /// Begins the span of a request.
    pub(crate) fn of(info: &ModelInfo, request: &ModelRequest) -> Self {
        let span = tracing::info_span!(
            target: SPANS,
            "model_call",
            // The key of the prompt cache.
            session = request.cache_key.as_deref(),
            model = info.id.as_str(),
            input_tokens = Empty,
            output_tokens = Empty,
            cached_tokens = Empty,
            stop = Empty,
            error = Empty,
            messages = Empty,
            answer = Empty,
        );
        let has_contents = has_contents(&span);
        if has_contents {
            let messages: Vec<_> = request.messages.iter().flat_map(messages).collect();
            span.record("messages", Value::from(messages).to_string());
        }
        Self { span, answer: has_contents.then(Vec::new), stop: None }
    }

    /// Returns the span, to be entered while the model works.
    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Records an event of the answer.
    pub(crate) fn note(&mut self, event: &Result<ModelEvent, ModelError>) {
        match event {
            Ok(ModelEvent::Usage(usage)) => {
                self.span.record("input_tokens", usage.input);
                self.span.record("output_tokens", usage.output);
                self.span.record("cached_tokens", usage.cache_read);
            }
            Ok(ModelEvent::Stop(stop)) => {
                let stop = stop_name(*stop);
                self.stop = Some(stop);
                self.span.record("stop", stop);
            }
            Ok(ModelEvent::Text(text)) => self.add_text(text),
            Ok(ModelEvent::ToolCall(ModelCall { provider_id, name, arguments, .. })) => {
                if let Some(answer) = &mut self.answer {
                    answer.push(call_part(provider_id, name, arguments));
                }
            }
            Ok(_) => {}
            Err(error) => {
                self.span.record("error", model_error(error));
            }
        }
    }

    fn add_text(&mut self, more: &str) {
        let Some(answer) = &mut self.answer else { return };
        if let Some(Value::String(text)) =
            answer.last_mut().filter(|part| part["type"] == "text").and_then(|part| part.get_mut("content"))
        {
            text.push_str(more);
        } else {
            answer.push(text_part(more));
        }
    }
}

impl Drop for ModelSpan {
    fn drop(&mut self) {
        if let Some(parts) = self.answer.take() {
            let message = json!([{ "role": "assistant", "parts": parts, "finish_reason": self.stop.unwrap_or("error") }]);
            self.span.record("answer", message.to_string());
        }
    }
}

/// Returns a message as messages of `{role, parts}`: the results of an answer's calls follow it.
fn messages(message: &Message) -> Vec<Value> {
    match message {
        Message::User(content) => {
            let parts: Vec<_> = content.iter().map(content_part).collect();
            vec![json!({ "role": "user", "parts": parts })]
        }
        Message::Assistant(AssistantMessage { items, .. }) => {
            let parts: Vec<_> = items.iter().filter_map(item_part).collect();
            let results = message_results(items);
            let mut messages = vec![json!({ "role": "assistant", "parts": parts })];
            if !results.is_empty() {
                messages.push(json!({ "role": "tool", "parts": results }));
            }
            messages
        }
    }
}

fn content_part(content: &Content) -> Value {
    match content {
        Content::Text(text) | Content::Resource { text, .. } => text_part(text),
        Content::Image { mime_type, .. } => {
            json!({ "type": "blob", "modality": "image", "mime_type": mime_type })
        }
        Content::ResourceLink { uri, .. } => json!({ "type": "uri", "uri": uri }),
    }
}

fn item_part(item: &Item<AnsweredCall>) -> Option<Value> {
    match item {
        Item::Text(text) => Some(text_part(&text.text)),
        Item::Reasoning(reasoning) => Some(json!({ "type": "reasoning", "content": reasoning.text })),
        Item::Call(call) => Some(call_part(&call.provider_id, &call.name, &call.written.arguments)),
        Item::Other(_) => None,
    }
}

fn message_results(items: &[Item<AnsweredCall>]) -> Vec<Value> {
    let result = |item: &Item<AnsweredCall>| match item {
        Item::Call(call) => Some(json!({
            "type": "tool_call_response", "id": call.provider_id, "response": call.result.text,
        })),
        _ => None,
    };
    items.iter().filter_map(result).collect()
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "content": text })
}

fn call_part(id: &str, name: &str, arguments: &str) -> Value {
    let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments));
    json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments })
}

fn stop_name(stop: ModelStop) -> &'static str {
    match stop {
        ModelStop::EndTurn => "stop",
        ModelStop::ToolCalls => "tool_call",
        ModelStop::MaxTokens => "length",
        ModelStop::Refusal => "content_filter",
    }
}

/// Returns the kind of an error, as an id for programs.
pub(crate) fn model_error(error: &ModelError) -> &'static str {
    match error {
        ModelError::NotConfigured(_) => "not_configured",
        ModelError::Auth(_) => "auth",
        ModelError::BadRequest(_) => "bad_request",
        ModelError::ContextOverflow(_) => "context_overflow",
        ModelError::Overloaded(_) => "overloaded",
        ModelError::Transport(_) => "transport",
        ModelError::BadResponse(_) => "bad_response",
        ModelError::AnswerTooLong => "answer_too_long",
        ModelError::NotAdmitted(_) => "not_admitted",
    }
}
