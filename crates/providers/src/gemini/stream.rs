//! Folds the events of a `streamGenerateContent` stream.

mod event;

use super::WIRE;
use crate::{
    http::{Failure, Fold, Peer},
    limits::MAX_CALLS,
    parts::wrap_own_form,
    sink::EventSink,
};
use agent::{ModelCall, ModelError, ModelEvent, ModelStop, Reasoning, Usage};
use event::{Event, FunctionCall, Part};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// The state of an answer.
#[derive(Debug, Default)]
pub(super) struct GeminiFold {
    /// The text or thought item that is incomplete.
    open: Open,
    calls: usize,
    usage: Option<Usage>,
    finish: Option<String>,
}

/// Adjacent parts of one kind, which form one item.
#[derive(Debug, Default)]
struct Open {
    thought: bool,
    /// The whole text.
    text: String,
    /// The end of the text, which is not in `parts` yet.
    plain: String,
    /// The parts to send back as they were received: a signature belongs only to the text of its
    /// own part.
    parts: Vec<Box<RawValue>>,
}

impl Fold for GeminiFold {
    fn on_event(&mut self, data: &str, peer: &Peer, sink: &mut EventSink) -> Result<(), Failure> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let Some(event) = sink.read::<Event<'_>>(data) else { return Ok(()) };
        if event.error.is_some() {
            return Err(peer.reported_event(data));
        }
        if let Some(usage) = event.usage_metadata {
            self.usage = Some(usage.into());
        }
        if let Some(feedback) = event.prompt_feedback
            && let Some(reason) = feedback.block_reason
        {
            sink.refused(peer, Some(&reason), feedback.block_reason_message.as_deref());
            self.finish = Some("SAFETY".into());
            sink.finished = true;
        }
        // Only one candidate is requested; others that a server adds are ignored.
        let Some(candidate) = event.candidates.into_iter().find(|candidate| candidate.index == 0) else {
            return Ok(());
        };
        for part in candidate.content.map(|content| content.parts).unwrap_or_default() {
            self.on_part(part, peer, sink)?;
        }
        match candidate.finish_reason {
            Some(reason) if reason != "FINISH_REASON_UNSPECIFIED" => {
                self.on_finish(reason, candidate.finish_message.as_deref(), peer, sink)
            }
            _ => Ok(()),
        }
    }

    fn complete(&mut self, sink: &mut EventSink) {
        self.close(sink);
        let stop = match self.finish.as_deref() {
            Some("MAX_TOKENS") => ModelStop::MaxTokens,
            Some(reason) if REFUSALS.contains(&reason) => ModelStop::Refusal,
            _ if self.calls > 0 => ModelStop::ToolCalls,
            _ => ModelStop::EndTurn,
        };
        if let Some(usage) = self.usage.take() {
            sink.push(ModelEvent::Usage(usage));
        }
        sink.push(ModelEvent::Stop(stop));
    }

    fn abandon(&mut self, sink: &mut EventSink) {
        self.close(sink);
        if let Some(usage) = self.usage.take() {
            sink.push(ModelEvent::Usage(usage));
        }
    }
}

/// Stop reasons of a content filter.
const REFUSALS: &[&str] =
    &["SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"];

impl GeminiFold {
    fn on_part(&mut self, raw: &RawValue, peer: &Peer, sink: &mut EventSink) -> Result<(), Failure> {
        let Some(part) = sink.read::<Part<'_>>(raw.get()) else { return Ok(()) };
        if let Some(call) = part.function_call {
            self.close(sink);
            return self.on_call(call, raw, peer, sink);
        }
        let Some(text) = part.text else {
            // A part that was not requested, such as code that the server ran: the model may want
            // it back.
            self.close(sink);
            sink.count(raw.get().len());
            sink.push(ModelEvent::Other(wrap_own_form(WIRE, &[raw])));
            searched(&part.tool_call).for_each(|query| sink.push(ModelEvent::HostedSearch(query)));
            return Ok(());
        };
        if part.thought != self.open.thought {
            self.close(sink);
            self.open.thought = part.thought;
        }
        self.open.add(&text, part.thought_signature.is_some().then_some(raw));
        sink.count(part.thought_signature.map_or(0, |_| raw.get().len()));
        if part.thought {
            sink.reasoning(text)
        } else {
            sink.text(text)
        }
        Ok(())
    }

    fn on_call(
        &mut self,
        call: FunctionCall<'_>,
        raw: &RawValue,
        peer: &Peer,
        sink: &mut EventSink,
    ) -> Result<(), Failure> {
        sink.count(raw.get().len());
        let id = call.id.filter(|id| !id.is_empty());
        let arguments = call.args.map_or("", RawValue::get);
        let arguments = if arguments == "null" { "" } else { arguments };
        self.call(id, call.name, arguments.to_owned(), Some(wrap_own_form(WIRE, &[raw])), peer, sink)
    }

    fn call(
        &mut self,
        id: Option<String>,
        name: String,
        arguments: String,
        opaque: Option<String>,
        peer: &Peer,
        sink: &mut EventSink,
    ) -> Result<(), Failure> {
        if self.calls >= MAX_CALLS {
            return Err(peer.too_many_calls(MAX_CALLS));
        }
        let provider_id = id.unwrap_or_else(|| format!("call_{}", self.calls));
        self.calls += 1;
        sink.push(ModelEvent::ToolCall(ModelCall { provider_id, name, arguments, opaque }));
        Ok(())
    }

    /// Handles the stop reason.
    fn on_finish(
        &mut self,
        reason: String,
        message: Option<&str>,
        peer: &Peer,
        sink: &mut EventSink,
    ) -> Result<(), Failure> {
        match reason.as_str() {
            // The model wrote a call that the server could not parse, often as a line of Python.
            "MALFORMED_FUNCTION_CALL" => {
                let message = message.unwrap_or_default();
                if let Some(name) = called(message) {
                    self.close(sink);
                    self.call(None, name, message.to_owned(), None, peer, sink)?;
                } else if !sink.began {
                    return Err(Failure::transient(ModelError::BadResponse(format!(
                        "{} wrote a tool call that its server could not parse; try again",
                        peer.model
                    ))));
                }
            }
            refused if REFUSALS.contains(&refused) => sink.refused(peer, Some(refused), message),
            _ => {}
        }
        self.finish = Some(reason);
        sink.finished = true;
        Ok(())
    }

    /// Completes the open item.
    fn close(&mut self, sink: &mut EventSink) {
        let open = std::mem::take(&mut self.open);
        let (thought, has_text) = (open.thought, !open.text.is_empty());
        let (text, opaque_parts) = open.whole();
        match (thought, opaque_parts) {
            (true, opaque) if has_text || opaque.is_some() => {
                sink.push(ModelEvent::ReasoningDone(Reasoning { text, opaque }));
            }
            (false, opaque) if has_text => sink.push(ModelEvent::TextDone(opaque)),
            // A signature without text, as in the last part of an answer.
            (false, Some(opaque)) => sink.push(ModelEvent::Other(opaque)),
            _ => {}
        }
    }
}

impl Open {
    /// Appends a text, and stores the whole part if it is signed.
    fn add(&mut self, text: &str, signed: Option<&RawValue>) {
        self.text.push_str(text);
        let Some(raw) = signed else {
            self.plain.push_str(text);
            return;
        };
        self.end_plain();
        self.parts.push(raw.to_owned());
    }

    fn end_plain(&mut self) {
        let plain = std::mem::take(&mut self.plain);
        if plain.is_empty() {
            return;
        }
        let part = if self.thought {
            serde_json::json!({ "text": plain, "thought": true })
        } else {
            serde_json::json!({ "text": plain })
        };
        self.parts.push(to_raw_value(&part).expect("JSON always serialises"));
    }

    /// Returns the text, and the parts if one of them is signed.
    fn whole(mut self) -> (String, Option<String>) {
        if self.parts.is_empty() {
            return (self.text, None);
        }
        self.end_plain();
        let parts: Vec<&RawValue> = self.parts.iter().map(|part| &**part).collect();
        (self.text, Some(wrap_own_form(WIRE, &parts)))
    }
}

/// Returns the queries of a search that the server makes by itself.
fn searched(call: &Value) -> impl Iterator<Item = String> {
    let is_search = call["toolType"].as_str().is_some_and(|kind| kind.starts_with("GOOGLE_SEARCH"));
    let queries = call["args"]["queries"].as_array().filter(|_| is_search);
    queries.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
}

/// Extracts the tool name from the message about an unparsable call:
/// `… print(default_api.NAME(…))`.
fn called(message: &str) -> Option<String> {
    let (_, after) = message.split_once("default_api.")?;
    let name: String = after.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect();
    (!name.is_empty()).then_some(name)
}
