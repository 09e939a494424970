//! The events of the chat-completions wire format, as a model server sends them.

use serde_json::{Value, json};

/// The last event of every response.
pub(crate) const DONE: &str = "[DONE]";

/// Returns a chunk of text.
pub(crate) fn text(text: &str) -> String {
    chunk(&json!({ "role": "assistant", "content": text }), None)
}

/// Returns a complete tool call.
pub(crate) fn tool_call(number: usize, name: &str, arguments: &Value) -> String {
    tool_calls(number, &[(name, arguments.clone())])
}

/// Returns complete tool calls, numbered from `first`.
pub(crate) fn tool_calls(first: usize, calls: &[(&str, Value)]) -> String {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        let id = format!("call_{}", first + index);
        json!({ "index": index, "id": id, "type": "function", "function": function })
    });
    chunk(&json!({ "role": "assistant", "tool_calls": calls.collect::<Vec<_>>() }), None)
}

/// Returns the event with the reason for the end: `stop` or `tool_calls`.
pub(crate) fn end(reason: &str) -> String {
    chunk(&json!({}), Some(reason))
}

/// Returns the event with some token usage.
pub(crate) fn usage() -> String {
    usage_of(10, 10)
}

/// Returns the event with this token usage.
pub(crate) fn usage_of(prompt: usize, answer: usize) -> String {
    let usage =
        json!({ "prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer });
    json!({ "id": "bench", "object": "chat.completion.chunk", "created": 0, "model": "bench", "choices": [], "usage": usage })
        .to_string()
}

fn chunk(delta: &Value, finish_reason: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
    json!({ "id": "bench", "object": "chat.completion.chunk", "created": 0, "model": "bench", "choices": [choice] })
        .to_string()
}
