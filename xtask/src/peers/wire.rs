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
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call =
        json!({ "index": 0, "id": format!("call_{number}"), "type": "function", "function": function });
    chunk(&json!({ "role": "assistant", "tool_calls": [call] }), None)
}

/// Returns the event with the reason for the end: `stop` or `tool_calls`.
pub(crate) fn end(reason: &str) -> String {
    chunk(&json!({}), Some(reason))
}

/// Returns the event with the token usage.
pub(crate) fn usage() -> String {
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20 });
    json!({ "id": "bench", "object": "chat.completion.chunk", "created": 0, "model": "bench", "choices": [], "usage": usage })
        .to_string()
}

fn chunk(delta: &Value, finish_reason: Option<&str>) -> String {
    let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish_reason });
    json!({ "id": "bench", "object": "chat.completion.chunk", "created": 0, "model": "bench", "choices": [choice] })
        .to_string()
}
