//! Folds the events of a Messages stream.

mod event;

use super::WIRE;
use crate::{
    fields::Fields,
    http::{Failure, Fold, Peer},
    limits::MAX_CALLS,
    parts::wrap_own_form,
    sink::EventSink,
};
use agent::{ModelCall, ModelEvent, ModelStop, Reasoning, Usage};
use event::{BlockStart, Delta, Event, UsageBlock};
use serde_json::value::RawValue;

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct AnthropicFold {
    /// The open blocks, with their indexes: few, however large the indexes are.
    open: Vec<(u64, Block)>,
    calls: usize,
    usage: Usage,
    stop: Option<String>,
}

/// A block that has begun.
#[derive(Debug)]
struct Block {
    /// The members that the block began with, in order.
    start: Fields<'static>,
    open: Open,
}

/// The content received for a block since its start.
#[derive(Debug)]
enum Open {
    Text { text: String, citations: Vec<Box<RawValue>> },
    Thinking { thinking: String, signature: String },
    Redacted,
    Call { id: String, name: String, input: String },
    Unknown { input: String },
}

impl Fold for AnthropicFold {
    fn on_event(&mut self, data: &str, peer: &Peer, sink: &mut EventSink) -> Result<(), Failure> {
        // Gateways send OpenAI's end marker here too; it has no meaning.
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let Some(event) = sink.read::<Event>(data) else { return Ok(()) };
        match event {
            Event::MessageStart { message } => self.count(message.usage, sink),
            Event::ContentBlockStart { index, content_block } => {
                if self.open.len() + self.calls >= MAX_CALLS {
                    return Err(peer.too_many_calls(MAX_CALLS));
                }
                self.begin(index, content_block, members(data, "content_block"), sink);
            }
            Event::ContentBlockDelta { index, delta: Delta::Citation } => {
                self.add_citation(index, &members(data, "delta"), sink);
            }
            Event::ContentBlockDelta { index, delta } => self.extend(index, delta, sink),
            Event::ContentBlockStop { index } => self.end(index, sink),
            Event::MessageDelta { delta, usage } => {
                self.count(usage, sink);
                if let Some(details) = delta.stop_details {
                    sink.refused(peer, details.category.as_deref(), details.explanation.as_deref());
                }
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
                return Err(peer.reported_event(data));
            }
            Event::Other => {}
        }
        Ok(())
    }

    fn complete(&mut self, sink: &mut EventSink) {
        // Blocks that the server did not end are complete when the message is.
        while let Some((index, _)) = self.open.first() {
            self.end(*index, sink);
        }
        let stop = match self.stop.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => ModelStop::MaxTokens,
            Some("refusal") => ModelStop::Refusal,
            Some("pause_turn") => {
                let text = "The provider interrupted a long answer; send a message to continue".to_owned();
                sink.push(ModelEvent::Notice(text));
                ModelStop::EndTurn
            }
            _ if self.calls > 0 => ModelStop::ToolCalls,
            _ => ModelStop::EndTurn,
        };
        sink.push(ModelEvent::Usage(self.usage));
        sink.push(ModelEvent::Stop(stop));
    }

    fn abandon(&mut self, _sink: &mut EventSink) {}
}

impl AnthropicFold {
    fn begin(&mut self, index: u64, block: BlockStart, start: Fields<'static>, sink: &mut EventSink) {
        self.end_reused_block(index, &block, sink);
        let open = match block {
            BlockStart::Text { text } => {
                sink.text(text.as_str());
                Open::Text { text, citations: Vec::new() }
            }
            BlockStart::Thinking { thinking, signature } => {
                sink.reasoning(thinking.as_str());
                Open::Thinking { thinking, signature }
            }
            BlockStart::RedactedThinking => Open::Redacted,
            BlockStart::ToolUse { id, name } => {
                // A call counts as a beginning: the request must not be retried after it.
                sink.began = true;
                Open::Call { id, name, input: String::new() }
            }
            BlockStart::Other => Open::Unknown { input: String::new() },
        };
        sink.count(start.bytes());
        self.open.push((index, Block { start, open }));
    }

    /// Ends a block whose index is used again, since it is complete then. A call that begins twice
    /// without any input in between is one call.
    fn end_reused_block(&mut self, index: u64, next: &BlockStart, sink: &mut EventSink) {
        self.open.retain(|(at, block)| {
            *at != index
                || !matches!((&block.open, next), (Open::Call { id, input, .. }, BlockStart::ToolUse { id: again, .. })
                    if input.is_empty() && !id.is_empty() && id == again)
        });
        self.end(index, sink);
    }

    fn extend(&mut self, index: u64, delta: Delta, sink: &mut EventSink) {
        match (delta, self.block_of(index)) {
            (Delta::Text { text: more }, open) => {
                // Text is accepted even if the start of its block was lost.
                if let Some(Open::Text { text, .. }) = open {
                    text.push_str(&more);
                }
                sink.text(more);
            }
            (Delta::Thinking { thinking: more }, Some(Open::Thinking { thinking, .. })) => {
                thinking.push_str(&more);
                sink.reasoning(more);
            }
            (Delta::Signature { signature: more }, Some(Open::Thinking { signature, .. })) => {
                sink.count(more.len());
                signature.push_str(&more);
            }
            (Delta::InputJson { partial_json }, Some(Open::Call { input, .. } | Open::Unknown { input })) => {
                sink.count(partial_json.len());
                input.push_str(&partial_json);
            }
            _ => {}
        }
    }

    fn add_citation(&mut self, index: u64, delta: &Fields<'_>, sink: &mut EventSink) {
        if let (Some(Open::Text { citations, .. }), Some(citation)) =
            (self.block_of(index), delta.get("citation"))
        {
            sink.count(citation.get().len());
            citations.push(citation.to_owned());
        }
    }

    /// Returns the block that a piece belongs to: the one with its index, otherwise the last that
    /// has begun. Without this fallback, a wrong index would leave a call without arguments.
    fn block_of(&mut self, index: u64) -> Option<&mut Open> {
        let position = self.open.iter().position(|(at, _)| *at == index);
        let position = position.or_else(|| self.open.len().checked_sub(1))?;
        Some(&mut self.open[position].1.open)
    }

    fn end(&mut self, index: u64, sink: &mut EventSink) {
        let Some(position) = self.open.iter().position(|(at, _)| *at == index) else { return };
        let Block { mut start, open } = self.open.remove(position).1;
        match open {
            Open::Text { text, citations } => {
                if !citations.is_empty() {
                    start.set("citations", &citations);
                }
                let is_plain = start.is_empty_except(&["type", "text"]);
                start.set("text", &text);
                let opaque = (!is_plain).then(|| wrap_own_form(WIRE, &start));
                if opaque.is_some() || !text.is_empty() {
                    sink.push(ModelEvent::TextDone(opaque));
                }
            }
            Open::Thinking { thinking, signature } => {
                start.set("thinking", &thinking);
                if !signature.is_empty() {
                    start.set("signature", &signature);
                }
                let opaque = Some(start.to_json());
                sink.push(ModelEvent::ReasoningDone(Reasoning { text: thinking, opaque }));
            }
            Open::Redacted => {
                let opaque = Some(start.to_json());
                sink.push(ModelEvent::ReasoningDone(Reasoning { text: String::new(), opaque }));
            }
            Open::Call { id, name, input } => {
                let provider_id = if id.is_empty() { format!("call_{}", self.calls) } else { id };
                self.calls += 1;
                let from_start = start.get("input").map(RawValue::get).filter(|input| *input != "null");
                let arguments =
                    if input.is_empty() { from_start.unwrap_or_default().to_owned() } else { input };
                let more = start.without(&["type", "id", "name", "input"]);
                let opaque = (!more.is_empty_except(&[])).then(|| wrap_own_form(WIRE, &more));
                sink.push(ModelEvent::ToolCall(ModelCall { provider_id, name, arguments, opaque }));
            }
            Open::Unknown { input } => {
                if let Ok(input) = RawValue::from_string(input) {
                    start.set("input", &input);
                }
                sink.push(ModelEvent::Other(wrap_own_form(WIRE, &start)));
                if let Some(query) = searched(&start) {
                    sink.push(ModelEvent::HostedSearch(query));
                }
            }
        }
    }

    /// Updates the token counts. They are totals, and a later event repeats some of them.
    fn count(&mut self, block: Option<UsageBlock>, sink: &mut EventSink) {
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

/// Returns the query of a search that the server made by itself.
fn searched(block: &Fields<'_>) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Input {
        query: String,
    }
    let is = |member: &str, expected: &str| block.get(member).is_some_and(|value| value.get() == expected);
    if !is("type", "\"server_tool_use\"") || !is("name", "\"web_search\"") {
        return None;
    }
    Some(serde_json::from_str::<Input>(block.get("input")?.get()).ok()?.query)
}

/// Returns the members of an object in the data of an event; empty if there is no such object.
fn members(data: &str, name: &str) -> Fields<'static> {
    let event: Fields<'_> = serde_json::from_str(data).unwrap_or_default();
    Fields::of(event.get(name)).into_owned()
}
