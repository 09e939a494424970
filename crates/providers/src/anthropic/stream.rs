//! Folds the events of a Messages stream.

mod event;

use crate::{
    http::{Failure, Fold, Peer},
    limits::MAX_CALLS,
    sink::{Sink, arguments},
};
use agent::{ModelEvent, ModelStop, Reasoning, Usage};
use event::{BlockStart, Delta, Event, UsageBlock};
use serde::Serialize;
use serde_json::Value;

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct AnthropicFold {
    /// The blocks that have begun and not ended: few, whatever their indexes are.
    open: Vec<(u64, Open)>,
    calls: Vec<ModelEvent>,
    usage: Usage,
    stop: Option<String>,
}

#[derive(Debug)]
enum Open {
    Text,
    Thinking { thinking: String, signature: String },
    Redacted { data: String },
    Call { id: String, name: String, input: String, from_start: String },
    Unknown,
}

impl Fold for AnthropicFold {
    fn on_event(&mut self, data: &str, peer: &Peer, sink: &mut Sink) -> Result<(), Failure> {
        let event: Event = match serde_json::from_str(data) {
            Ok(event) => event,
            // Gateways put OpenAI's end mark here too; it means nothing.
            Err(_) if data.trim() == "[DONE]" => return Ok(()),
            Err(error) => {
                sink.malformed(&error, data.len());
                return Ok(());
            }
        };
        match event {
            Event::MessageStart { message } => self.count(message.usage, sink),
            Event::ContentBlockStart { index, content_block } => {
                if self.open.len() + self.calls.len() >= MAX_CALLS {
                    return Err(peer.too_many_calls(MAX_CALLS));
                }
                self.begin(index, content_block, sink);
            }
            Event::ContentBlockDelta { index, delta } => self.extend(index, delta, sink),
            Event::ContentBlockStop { index } => self.end(index, sink),
            Event::MessageDelta { delta, usage } => {
                self.count(usage, sink);
                if let Some(reason) = delta.stop_reason {
                    self.stop = Some(reason);
                    sink.finished = true;
                }
            }
            Event::MessageStop => {
                sink.finished = true;
                sink.ended = true;
            }
            Event::Error => {
                let value = serde_json::from_str(data).unwrap_or_default();
                return Err(peer.reported(None, &value));
            }
            Event::Other => {}
        }
        Ok(())
    }

    fn complete(&mut self, sink: &mut Sink) {
        // Blocks that the server forgot to end are whole when the message is.
        while let Some((index, _)) = self.open.first() {
            self.end(*index, sink);
        }
        let stop = match self.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => ModelStop::MaxTokens,
            Some("refusal") => ModelStop::Refusal,
            _ if !self.calls.is_empty() => ModelStop::ToolCalls,
            _ => ModelStop::EndTurn,
        };
        self.calls.drain(..).for_each(|call| sink.push(call));
        sink.push(ModelEvent::Usage(self.usage));
        sink.push(ModelEvent::Stop(stop));
    }

    fn abandon(&mut self, _sink: &mut Sink) {}
}

impl AnthropicFold {
    fn begin(&mut self, index: u64, block: BlockStart, sink: &mut Sink) {
        self.make_way(index, &block, sink);
        let open = match block {
            BlockStart::Text { text } => {
                sink.text(text);
                Open::Text
            }
            BlockStart::Thinking { thinking, signature } => {
                sink.reasoning(thinking.as_str());
                Open::Thinking { thinking, signature }
            }
            BlockStart::RedactedThinking { data } => {
                sink.count(data.len());
                Open::Redacted { data }
            }
            BlockStart::ToolUse { id, name, input } => {
                // A call is an answer under way: it is not asked for a second time.
                sink.began = true;
                let from_start = input.map_or_else(String::new, |input| Value::Object(input).to_string());
                Open::Call { id, name, input: String::new(), from_start }
            }
            BlockStart::Other => Open::Unknown,
        };
        self.open.push((index, open));
    }

    /// Ends the block whose index is used again, which is whole then; a call that begins twice and
    /// was given nothing yet is one call.
    fn make_way(&mut self, index: u64, next: &BlockStart, sink: &mut Sink) {
        self.open.retain(|(at, open)| {
            *at != index
                || !matches!((open, next), (Open::Call { id, input, .. }, BlockStart::ToolUse { id: again, .. })
                    if input.is_empty() && !id.is_empty() && id == again)
        });
        self.end(index, sink);
    }

    fn extend(&mut self, index: u64, delta: Delta, sink: &mut Sink) {
        match (delta, self.continued(index)) {
            // Text is text even where the start of its block was lost.
            (Delta::Text { text }, _) => sink.text(text),
            (Delta::Thinking { thinking: more }, Some(Open::Thinking { thinking, .. })) => {
                thinking.push_str(&more);
                sink.reasoning(more);
            }
            (Delta::Signature { signature: more }, Some(Open::Thinking { signature, .. })) => {
                sink.count(more.len());
                signature.push_str(&more);
            }
            (Delta::InputJson { partial_json }, Some(Open::Call { input, .. })) => {
                sink.count(partial_json.len());
                input.push_str(&partial_json);
            }
            _ => {}
        }
    }

    /// The block that a piece belongs to: the one with its index, or else the last that has begun.
    /// Arguments that go astray would leave a call without any.
    fn continued(&mut self, index: u64) -> Option<&mut Open> {
        let place = self.open.iter().position(|(at, _)| *at == index);
        let place = place.or_else(|| self.open.len().checked_sub(1))?;
        Some(&mut self.open[place].1)
    }

    fn end(&mut self, index: u64, sink: &mut Sink) {
        let Some(place) = self.open.iter().position(|(at, _)| *at == index) else { return };
        match self.open.remove(place).1 {
            Open::Text | Open::Unknown => {}
            Open::Thinking { thinking, signature } => {
                let block = Stored::Thinking { thinking: &thinking, signature: &signature };
                let opaque = (!signature.is_empty()).then(|| block.to_json());
                sink.push(ModelEvent::ReasoningDone(Reasoning { text: thinking, opaque }));
            }
            Open::Redacted { data } => {
                let opaque = Some(Stored::RedactedThinking { data: &data }.to_json());
                sink.push(ModelEvent::ReasoningDone(Reasoning { text: String::new(), opaque }));
            }
            Open::Call { id, name, input, from_start } => {
                let provider_id = if id.is_empty() { format!("call_{}", self.calls.len()) } else { id };
                let raw = if input.is_empty() { from_start } else { input };
                self.calls.push(ModelEvent::ToolCall { provider_id, name, arguments: arguments(raw) });
            }
        }
    }

    /// Counts are totals, and a later event repeats some of them.
    fn count(&mut self, block: Option<UsageBlock>, sink: &mut Sink) {
        let Some(block) = block else { return };
        let read = block.cache_read_input_tokens.unwrap_or(self.usage.cache_read);
        let write = block.cache_creation_input_tokens.unwrap_or(self.usage.cache_write);
        let fresh = self.usage.input - self.usage.cache_read - self.usage.cache_write;
        self.usage = Usage {
            input: block.input_tokens.unwrap_or(fresh).saturating_add(read).saturating_add(write),
            output: block.output_tokens.unwrap_or(self.usage.output),
            cache_read: read,
            cache_write: write,
            ..Usage::default()
        };
        if !sink.began {
            sink.push(ModelEvent::Usage(self.usage));
        }
    }
}

/// A block of thinking as it goes back.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Stored<'a> {
    Thinking { thinking: &'a str, signature: &'a str },
    RedactedThinking { data: &'a str },
}

impl Stored<'_> {
    fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings always serialise")
    }
}
