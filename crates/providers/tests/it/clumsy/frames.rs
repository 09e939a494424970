//! One answer of a model, as the events of each wire.

use providers::Wire;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// The number of tokens in an answer.
const TOKENS: u64 = 77;

/// An answer.
#[derive(Debug, Default, Clone)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) thought: String,
    pub(super) calls: Vec<Call>,
    /// Whether the output limit ends it.
    pub(super) cut_off: bool,
}

/// A call: its name, the text of its arguments, and its id if that matters. In the table, an array
/// of two or three elements.
#[derive(Debug, Clone)]
pub(super) struct Call {
    name: String,
    arguments: String,
    id: Option<String>,
}

impl<'de> Deserialize<'de> for Call {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut parts = Vec::<Value>::deserialize(from)?.into_iter();
        let mut text = || Some(parts.next()?.as_str()?.to_owned());
        let (name, arguments) = (text().unwrap_or_default(), text().unwrap_or_default());
        let id = parts.next().and_then(|more| Some(more["id"].as_str()?.to_owned()));
        Ok(Self { name, arguments, id })
    }
}

impl Call {
    fn id(&self, index: usize) -> String {
        self.id.clone().unwrap_or_else(|| format!("call_{index}"))
    }

    /// Returns whether the arguments are an object. Gemini's wire can express nothing else.
    pub(super) fn is_object(&self) -> bool {
        serde_json::from_str::<Value>(&self.arguments).is_ok_and(|arguments| arguments.is_object())
    }

    /// Splits the arguments in two pieces.
    fn pieces(&self) -> (&str, &str) {
        let middle = self.arguments.len() / 2;
        let middle = (middle..).find(|at| self.arguments.is_char_boundary(*at)).unwrap_or_default();
        self.arguments.split_at(middle)
    }
}

/// Returns the events of an answer.
pub(super) fn of(wire: Wire, answer: &Answer) -> String {
    match wire {
        Wire::Responses => named(responses(answer)),
        Wire::Anthropic => named(messages(answer)),
        Wire::Gemini => gemini(answer).into_iter().map(|event| format!("data: {event}\n\n")).collect(),
        _ => {
            let events = chat(answer).into_iter().map(|event| format!("data: {event}\n\n"));
            events.chain(["data: [DONE]\n\n".to_owned()]).collect()
        }
    }
}

fn named(events: Vec<Value>) -> String {
    let event = |event: Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap());
    events.into_iter().map(event).collect()
}

/// Splits a text into pieces of a few characters, as it is streamed.
fn streamed(text: &str) -> Vec<String> {
    text.chars().collect::<Vec<_>>().chunks(7).map(|piece| piece.iter().collect()).collect()
}

fn chat(answer: &Answer) -> Vec<Value> {
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let mut events = Vec::new();
    events.extend(
        streamed(&answer.thought).into_iter().map(|text| delta(json!({ "reasoning_content": text }))),
    );
    events.extend(streamed(&answer.text).into_iter().map(|text| delta(json!({ "content": text }))));
    for (index, call) in answer.calls.iter().enumerate() {
        let (first, rest) = call.pieces();
        let function = json!({ "name": call.name, "arguments": first });
        let begun = json!({ "index": index, "id": call.id(index), "type": "function", "function": function });
        events.push(delta(json!({ "tool_calls": [begun] })));
        let more = json!({ "index": index, "function": { "arguments": rest } });
        events.push(delta(json!({ "tool_calls": [more] })));
    }
    let reason = match (answer.cut_off, answer.calls.is_empty()) {
        (true, _) => "length",
        (false, true) => "stop",
        (false, false) => "tool_calls",
    };
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] }));
    events.push(json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": TOKENS } }));
    events
}

fn messages(answer: &Answer) -> Vec<Value> {
    let message = json!({ "id": "m", "role": "assistant", "content": [], "model": "test", "usage": { "input_tokens": 10, "output_tokens": 1 } });
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    let mut index = 0;
    let mut block = |begin: Value, deltas: Vec<Value>| {
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": begin }));
        for delta in deltas {
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        }
        events.push(json!({ "type": "content_block_stop", "index": index }));
        index += 1;
    };
    if !answer.thought.is_empty() {
        let deltas = streamed(&answer.thought)
            .into_iter()
            .map(|text| json!({ "type": "thinking_delta", "thinking": text }));
        let signed = json!({ "type": "signature_delta", "signature": "c2ln" });
        block(
            json!({ "type": "thinking", "thinking": "", "signature": "" }),
            deltas.chain([signed]).collect(),
        );
    }
    if !answer.text.is_empty() {
        let deltas =
            streamed(&answer.text).into_iter().map(|text| json!({ "type": "text_delta", "text": text }));
        block(json!({ "type": "text", "text": "" }), deltas.collect());
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let (first, rest) = call.pieces();
        let delta = |part: &str| json!({ "type": "input_json_delta", "partial_json": part });
        let begin = json!({ "type": "tool_use", "id": call.id(index), "name": call.name, "input": {} });
        block(begin, vec![delta(first), delta(rest)]);
    }
    let reason = match (answer.cut_off, answer.calls.is_empty()) {
        (true, _) => "max_tokens",
        (false, true) => "end_turn",
        (false, false) => "tool_use",
    };
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": TOKENS } }));
    events.push(json!({ "type": "message_stop" }));
    events
}

fn responses(answer: &Answer) -> Vec<Value> {
    let mut events = vec![json!({ "type": "response.created", "response": { "id": "r" } })];
    let mut output = Vec::new();
    if !answer.thought.is_empty() {
        for text in streamed(&answer.thought) {
            events.push(json!({ "type": "response.reasoning_summary_text.delta", "delta": text }));
        }
        let summary = json!([{ "type": "summary_text", "text": answer.thought }]);
        output.push(json!({ "type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "e" }));
    }
    if !answer.text.is_empty() {
        for text in streamed(&answer.text) {
            events.push(json!({ "type": "response.output_text.delta", "output_index": output.len(), "item_id": "msg", "content_index": 0, "delta": text }));
        }
        let content = json!([{ "type": "output_text", "text": answer.text }]);
        output.push(json!({ "type": "message", "id": "msg", "role": "assistant", "content": content }));
    }
    for (index, call) in answer.calls.iter().enumerate() {
        let status = if answer.cut_off { "incomplete" } else { "completed" };
        output.push(json!({ "type": "function_call", "id": format!("fc_{index}"), "call_id": call.id(index), "name": call.name, "arguments": call.arguments, "status": status }));
    }
    for (index, item) in output.iter().enumerate() {
        events.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
    }
    let usage = json!({ "input_tokens": 10, "output_tokens": TOKENS });
    let (kind, details) = match answer.cut_off {
        true => ("response.incomplete", json!({ "reason": "max_output_tokens" })),
        false => ("response.completed", Value::Null),
    };
    let response = json!({ "id": "r", "output": output, "usage": usage, "incomplete_details": details });
    events.push(json!({ "type": kind, "response": response }));
    events
}

fn gemini(answer: &Answer) -> Vec<Value> {
    let thoughts = streamed(&answer.thought).into_iter().map(|text| json!({ "text": text, "thought": true }));
    let texts = streamed(&answer.text).into_iter().map(|text| json!({ "text": text }));
    let calls = answer.calls.iter().map(|call| {
        let arguments = serde_json::from_str::<Value>(&call.arguments).unwrap_or_default();
        json!({ "functionCall": { "name": call.name, "args": arguments } })
    });
    let event = |part: Value| json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": [part] } }] });
    let mut events: Vec<_> = thoughts.chain(texts).chain(calls).map(event).collect();
    let reason = if answer.cut_off { "MAX_TOKENS" } else { "STOP" };
    let usage = json!({ "promptTokenCount": 10, "candidatesTokenCount": TOKENS });
    events.push(json!({ "candidates": [{ "index": 0, "content": { "parts": [] }, "finishReason": reason }], "usageMetadata": usage }));
    events
}
