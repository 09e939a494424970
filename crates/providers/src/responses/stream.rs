//! Folds the events of a Responses stream.

mod event;

use super::WIRE;
use crate::{
    http::{Failure, Fold, Peer},
    limits::MAX_CALLS,
    parts::wrap_own_form,
    sink::EventSink,
};
use agent::{ModelCall, ModelEvent, ModelStop, Reasoning, Usage};
use event::{Ended, Event, Item};
use serde_json::{Value, value::RawValue};

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct ResponsesFold {
    calls: usize,
    usage: Option<Usage>,
    stop: Option<ModelStop>,
    refused: bool,
    /// Whether text of the current message arrived in pieces; otherwise it is taken from the whole
    /// message.
    saw_text: bool,
    /// Whether items arrived one by one; otherwise they are taken from the final event.
    saw_items: bool,
    saw_reasoning: bool,
}

impl Fold for ResponsesFold {
    fn on_event(&mut self, data: &str, peer: &Peer, sink: &mut EventSink) -> Result<(), Failure> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let Some(event) = sink.read::<Event<'_>>(data) else { return Ok(()) };
        match event.kind.as_ref() {
            "response.output_text.delta" => {
                self.saw_text = true;
                sink.text(event.delta.unwrap_or_default());
            }
            "response.refusal.delta" => {
                self.saw_text = true;
                self.refused = true;
                sink.text(event.delta.unwrap_or_default());
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.saw_reasoning = true;
                sink.reasoning(event.delta.unwrap_or_default());
            }
            "response.reasoning_summary_part.added" if self.saw_reasoning => sink.reasoning("\n\n"),
            // A call counts as a beginning: the request must not be retried after it.
            "response.function_call_arguments.delta" => sink.began = true,
            "response.output_item.done" => {
                if let Some(raw) = event.item {
                    self.saw_items = true;
                    self.on_item(raw, peer, sink)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                if let Some(raw) = event.response {
                    self.on_end(raw, peer, sink)?;
                }
                sink.finished = true;
                sink.ended = true;
            }
            "response.failed" => {
                let value =
                    event.response.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
                return Err(peer.reported(None, &value));
            }
            "error" => return Err(peer.reported_event(data)),
            _ if event.error.is_some() => return Err(peer.reported_event(data)),
            _ => {}
        }
        Ok(())
    }

    fn complete(&mut self, sink: &mut EventSink) {
        let stop = match self.stop {
            Some(stop) => stop,
            None if self.calls > 0 => ModelStop::ToolCalls,
            None if self.refused => ModelStop::Refusal,
            None => ModelStop::EndTurn,
        };
        if let Some(usage) = self.usage.take() {
            sink.push(ModelEvent::Usage(usage));
        }
        sink.push(ModelEvent::Stop(stop));
    }

    fn abandon(&mut self, _sink: &mut EventSink) {}
}

impl ResponsesFold {
    fn on_item(&mut self, raw: &RawValue, peer: &Peer, sink: &mut EventSink) -> Result<(), Failure> {
        let Some(item) = sink.read::<Item>(raw.get()) else { return Ok(()) };
        sink.count(raw.get().len());
        match item {
            Item::Reasoning { summary, content } => {
                let text = join(&summary).or_else(|| join(&content.unwrap_or_default())).unwrap_or_default();
                self.saw_reasoning = false;
                let opaque = Some(raw.get().to_owned());
                sink.push(ModelEvent::ReasoningDone(Reasoning { text, opaque }));
            }
            Item::FunctionCall { call_id, name, arguments } => {
                if self.calls >= MAX_CALLS {
                    return Err(peer.too_many_calls(MAX_CALLS));
                }
                let provider_id = if call_id.is_empty() { format!("call_{}", self.calls) } else { call_id };
                self.calls += 1;
                let opaque = Some(wrap_own_form(WIRE, raw));
                sink.push(ModelEvent::ToolCall(ModelCall { provider_id, name, arguments, opaque }));
            }
            Item::Message { content } => {
                if !std::mem::take(&mut self.saw_text) {
                    content.into_iter().for_each(|part| sink.text(part.text.unwrap_or_default()));
                }
                sink.push(ModelEvent::TextDone(Some(wrap_own_form(WIRE, raw))));
            }
            Item::WebSearchCall { action } => {
                sink.push(ModelEvent::Other(wrap_own_form(WIRE, raw)));
                queries(&action).for_each(|query| sink.push(ModelEvent::HostedSearch(query)));
            }
            Item::Other => sink.push(ModelEvent::Other(wrap_own_form(WIRE, raw))),
        }
        Ok(())
    }

    fn on_end(&mut self, raw: &RawValue, peer: &Peer, sink: &mut EventSink) -> Result<(), Failure> {
        let Some(ended) = sink.read::<Ended<'_>>(raw.get()) else { return Ok(()) };
        if !self.saw_items {
            // It is unknown which message the pieces of text belonged to; they are attributed to
            // the first one.
            let saw_text = self.saw_text;
            for item in ended.output.unwrap_or_default() {
                let is_message = matches!(serde_json::from_str(item.get()), Ok(Item::Message { .. }));
                match saw_text && !self.saw_text && is_message {
                    true => sink.push(ModelEvent::Other(wrap_own_form(WIRE, item))),
                    false => self.on_item(item, peer, sink)?,
                }
            }
        }
        self.usage = ended.usage.map(Usage::from);
        self.stop = match ended.incomplete_details.and_then(|details| details.reason).as_deref() {
            Some("content_filter") => Some(ModelStop::Refusal),
            Some(_) => Some(ModelStop::MaxTokens),
            None => None,
        };
        Ok(())
    }
}

/// Returns the queries of a search; opening a page has none.
fn queries(action: &Value) -> impl Iterator<Item = String> {
    let listed = action["queries"].as_array().map(Vec::as_slice).unwrap_or_default();
    let single = action.get("query").filter(|_| listed.is_empty());
    listed.iter().chain(single).filter_map(Value::as_str).map(str::to_owned)
}

fn join(parts: &[event::TextPart]) -> Option<String> {
    let texts: Vec<_> = parts.iter().filter_map(|part| part.text.as_deref()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}
