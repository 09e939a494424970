//! Extracts the reason from a client's error response.
//!
//! The message of an error is often general ("Internal error"), and the reason is in its `data`: a
//! string, or an object with the text in one of a few members.

use crate::limits::REASON_CHARS;
use agent::one_line;
use serde_json::Value;

/// The members of `data` that may contain a reason, the common ones first.
const MEMBERS: [&str; 8] =
    ["details", "detail", "message", "reason", "error", "cause", "description", "errors"];

/// Maximum depth of nested members.
const DEPTH: usize = 4;

/// Returns an error's message and what its `data` adds to it, as one sanitised line of at most
/// [`REASON_CHARS`] characters.
pub(super) fn describe(message: &str, data: Option<&Value>) -> String {
    let mut parts = Vec::new();
    add(message, &mut parts);
    if let Some(data) = data {
        collect(data, DEPTH, &mut parts);
    }
    if parts.is_empty() {
        return "it gave no reason".to_owned();
    }
    let text = parts.join(": ");
    match text.char_indices().nth(REASON_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn collect(data: &Value, depth: usize, parts: &mut Vec<String>) {
    match data {
        _ if depth == 0 => {}
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            // Some clients embed an error as JSON text in another error.
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => collect(&inner, depth - 1, parts),
            _ => add(text, parts),
        },
        Value::Array(items) => items.iter().for_each(|item| collect(item, depth - 1, parts)),
        Value::Object(members) => {
            let found = MEMBERS.iter().filter_map(|name| members.get(*name));
            found.for_each(|member| collect(member, depth - 1, parts));
            if let Some(data) = members.get("data") {
                collect(data, depth - 1, parts);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Adds a part unless an earlier part contains it.
fn add(text: &str, parts: &mut Vec<String>) {
    let text = one_line(text.trim());
    let text = text.trim_end_matches(':').trim();
    if !text.is_empty() && !parts.iter().any(|part| part.contains(text)) {
        parts.push(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_place_of_an_error_reason_is_read() {
        let nested = json!({"error": {"code": 1, "data": {"details": "deep"}}});
        for (message, data, expected) in [
            ("Internal error", json!("disk is full"), "Internal error: disk is full"),
            ("Internal error", json!({"details": "User refused"}), "Internal error: User refused"),
            ("Internal error", json!({"message": "no"}), "Internal error: no"),
            ("Internal error", json!({"reason": "policy"}), "Internal error: policy"),
            ("Internal error", json!({"error": "EROFS"}), "Internal error: EROFS"),
            ("Internal error", json!({"error": {"message": "EROFS"}}), "Internal error: EROFS"),
            ("Internal error", nested, "Internal error: deep"),
            ("Internal error", json!("{\"details\":\"text of a text\"}"), "Internal error: text of a text"),
            ("Internal error", json!({"message": "Internal error"}), "Internal error"),
            ("a", json!({"details": "b", "reason": "c"}), "a: b: c"),
            ("a", json!({"errors": ["b", {"message": "c"}]}), "a: b: c"),
            ("a", json!({"uri": "/x", "details": 7}), "a"),
            ("", json!({"details": "b"}), "b"),
            ("", Value::Null, "it gave no reason"),
            ("two\nlines\u{1b}[2J", Value::Null, "two⏎lines\\u{1b}[2J"),
        ] {
            assert_eq!(describe(message, Some(&data)), expected, "{message:?} {data}");
        }
        let long = describe(&"x".repeat(10_000), Some(&json!({"details": "y".repeat(10_000)})));
        assert_eq!(long.chars().count(), REASON_CHARS + 1);
    }
}
