//! Folds the chunks of a Chat Completions stream.

mod calls;
mod chunk;
mod member_assembler;
mod think;

use super::extra_members::{ExtraMembers, ReasoningField, WIRE};
use crate::{
    http::{Failure, Fold, Peer},
    parts::wrap_own_form,
    sink::EventSink,
};
use agent::{ModelEvent, ModelStop, Reasoning, Usage};
use calls::Calls;
use chunk::{Chunk, Delta};
use member_assembler::MemberAssembler;
use think::{ContentPiece, ThinkTagSplitter};

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct ChatFold {
    reasoning: String,
    /// The field of the reasoning block that is still incomplete.
    field: Option<ReasoningField>,
    think: ThinkTagSplitter,
    /// Reasoning from between tags, which is not sent back.
    tagged: String,
    /// Whether a reasoning field arrived, even an empty one.
    reasoned: bool,
    more: MemberAssembler,
    calls: Calls,
    usage: Option<Usage>,
    finish: Option<String>,
    refused: bool,
}

impl Fold for ChatFold {
    fn on_event(&mut self, data: &str, peer: &Peer, sink: &mut EventSink) -> Result<(), Failure> {
        if data.trim() == "[DONE]" {
            // Without a stop reason, the end marker itself counts as one: the server declares that
            // it is done.
            sink.finished = true;
            sink.ended = true;
            return Ok(());
        }
        let Some(chunk) = sink.read::<Chunk<'_>>(data) else { return Ok(()) };
        if chunk.is_error() {
            return Err(peer.reported_event(data));
        }
        if let Some(usage) = chunk.usage {
            self.usage = Some(usage.into());
        }
        // Only one choice is requested; others that a server adds are ignored.
        let Some(choice) = chunk.choices.unwrap_or_default().into_iter().find(|choice| choice.index == 0)
        else {
            return Ok(());
        };
        if let Some(delta) = choice.delta {
            self.on_delta(delta, sink).map_err(|too_many| peer.too_many_calls(too_many))?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason);
            sink.finished = true;
        }
        Ok(())
    }

    fn complete(&mut self, sink: &mut EventSink) {
        self.end_content(sink);
        self.end_reasoning(sink);
        let message = self.more.take();
        if !message.is_empty() {
            sink.push(ModelEvent::Other(wrap_own_form(WIRE, &ExtraMembers { message })));
        }
        let calls = self.calls.take();
        let stop = match self.finish.as_deref() {
            Some("length" | "max_tokens") => ModelStop::MaxTokens,
            Some("content_filter" | "refusal") => ModelStop::Refusal,
            _ if !calls.is_empty() => ModelStop::ToolCalls,
            _ if self.refused => ModelStop::Refusal,
            _ => ModelStop::EndTurn,
        };
        calls.into_iter().for_each(|call| sink.push(call));
        self.send_usage(sink);
        sink.push(ModelEvent::Stop(stop));
    }

    fn abandon(&mut self, sink: &mut EventSink) {
        self.end_content(sink);
        self.send_usage(sink);
    }
}

impl ChatFold {
    fn on_delta(&mut self, delta: Delta<'_>, sink: &mut EventSink) -> Result<(), usize> {
        let reasoning = match (delta.reasoning_content, delta.reasoning) {
            (Some(text), _) if !text.is_empty() => Some((ReasoningField::ReasoningContent, text)),
            (_, Some(text)) if !text.is_empty() => Some((ReasoningField::Reasoning, text)),
            // A server that sends the field requires it back, even if it was empty.
            (Some(text), _) if !self.reasoned => Some((ReasoningField::ReasoningContent, text)),
            _ => None,
        };
        sink.count(delta.more.bytes());
        self.more.add(delta.more);
        if let Some((field, text)) = reasoning {
            if !text.is_empty() {
                // The server separates reasoning itself, so a tag in the content is text.
                self.end_content(sink);
            }
            self.field = Some(field);
            self.reasoned = true;
            self.reasoning.push_str(&text);
            sink.reasoning(text);
        }
        if let Some(text) = delta.content.filter(|text| !text.is_empty()) {
            let piece_read = self.think.feed(&text);
            self.on_content(piece_read, sink);
        }
        if let Some(text) = delta.refusal.filter(|text| !text.is_empty()) {
            self.refused = true;
            self.end_reasoning(sink);
            sink.text(text);
        }
        let calls = delta.tool_calls.unwrap_or_default();
        if !calls.is_empty() {
            self.end_reasoning(sink);
            // A call counts as a beginning: the request must not be retried after it.
            sink.began = true;
        }
        calls.into_iter().try_for_each(|call| {
            sink.count(call.bytes());
            self.calls.add(call)
        })
    }

    fn on_content(&mut self, piece_read: ContentPiece, sink: &mut EventSink) {
        self.tagged.push_str(&piece_read.reasoning);
        sink.reasoning(piece_read.reasoning);
        if !piece_read.text.is_empty() {
            self.end_reasoning(sink);
            sink.text(piece_read.text);
        }
    }

    /// Emits content that was held back because it might have become a tag.
    fn end_content(&mut self, sink: &mut EventSink) {
        let piece_read = self.think.finish();
        self.on_content(piece_read, sink);
    }

    fn end_reasoning(&mut self, sink: &mut EventSink) {
        if !self.tagged.is_empty() {
            let text = std::mem::take(&mut self.tagged);
            sink.push(ModelEvent::ReasoningDone(Reasoning { text, opaque: None }));
        }
        if let Some(field) = self.field.take() {
            sink.push(ModelEvent::ReasoningDone(Reasoning {
                text: std::mem::take(&mut self.reasoning),
                opaque: Some(field.opaque().into()),
            }));
        }
    }

    fn send_usage(&mut self, sink: &mut EventSink) {
        if let Some(usage) = self.usage.take() {
            sink.push(ModelEvent::Usage(usage));
        }
    }
}
