//! Calls as JSON objects, in the shapes that models write.

use super::TextCall;
use crate::repair::json;
use serde_json::{Map, Value};

const NAMES: [&str; 8] =
    ["name", "tool", "tool_name", "function", "function_name", "recipient_name", "action", "toolName"];
const ARGUMENTS: [&str; 9] = [
    "arguments",
    "parameters",
    "args",
    "params",
    "input",
    "tool_input",
    "action_input",
    "kwargs",
    "function_args",
];
/// Keys beside the name and the arguments that are not arguments.
const BESIDE: [&str; 8] = ["id", "type", "call_id", "thought", "thoughts", "reasoning", "status", "index"];

/// Parses a text that is only JSON; every value must be a call.
pub(super) fn read(text: &str) -> Option<Vec<TextCall>> {
    if let Some(inner) = within_double_braces(text) {
        return of(&inner);
    }
    let found = json::read(text).ok()?;
    let mut calls = Vec::new();
    for value in &found.values {
        calls.extend(of(value)?);
    }
    if let Some(last) = calls.last_mut() {
        last.whole = !found.unclosed;
    }
    (!calls.is_empty()).then_some(calls)
}

/// Returns the object in `{{…}}`: some models copy the doubled braces of their template's source.
fn within_double_braces(text: &str) -> Option<Value> {
    let inner = text.trim().strip_prefix('{')?.trim_start();
    if !inner.starts_with('{') {
        return None;
    }
    let (value, end) = json::prefix(inner).ok()?;
    inner[end..].chars().all(|c| c == '}' || c.is_whitespace()).then_some(value)
}

/// Returns the calls in a value.
pub(super) fn of(value: &Value) -> Option<Vec<TextCall>> {
    match value {
        Value::Array(items) => items
            .iter()
            .map(of)
            .collect::<Option<Vec<_>>>()
            .map(|calls| calls.into_iter().flatten().collect()),
        Value::Object(fields) => of_fields(fields),
        _ => None,
    }
}

fn of_fields(fields: &Map<String, Value>) -> Option<Vec<TextCall>> {
    if let Some(calls @ Value::Array(_)) = fields.get("tool_calls") {
        return of(calls);
    }
    for around in ["function", "function_call", "tool_call"] {
        if let Some(inner @ Value::Object(_)) = fields.get(around) {
            return of(inner);
        }
    }
    let named = NAMES.iter().find_map(|key| Some((*key, fields.get(*key)?.as_str()?)));
    let Some((key, name)) = named else { return of_single(fields) };
    let arguments = match ARGUMENTS.iter().find_map(|key| fields.get(*key)) {
        Some(Value::String(text)) => match json::read(text) {
            Ok(found) if !found.unclosed && found.values.len() == 1 => found.values[0].clone(),
            _ => Value::String(text.clone()),
        },
        Some(arguments) => arguments.clone(),
        // The arguments are at the same level as the name.
        None => {
            let beside = |(other, _): &(&String, &Value)| *other != key && !BESIDE.contains(&other.as_str());
            Value::Object(
                fields.iter().filter(beside).map(|(key, value)| (key.clone(), value.clone())).collect(),
            )
        }
    };
    Some(vec![TextCall::new(name, &arguments)])
}

/// Reads `{"file_read": {"path": "a.py"}}`.
fn of_single(fields: &Map<String, Value>) -> Option<Vec<TextCall>> {
    let mut entries = fields.iter();
    match (entries.next(), entries.next()) {
        (Some((name, arguments @ Value::Object(_))), None) => Some(vec![TextCall::new(name, arguments)]),
        _ => None,
    }
}

/// Returns the tool name in a call that cannot be parsed.
pub(super) fn name_in(broken: &str) -> Option<&str> {
    let after = NAMES.iter().filter_map(|key| {
        let at = broken.find(&format!("\"{key}\""))?;
        let rest = broken[at + key.len() + 2..].trim_start().strip_prefix(':')?.trim_start();
        rest.strip_prefix('"')?.split('"').next()
    });
    after.into_iter().find(|name| !name.is_empty() && name.len() <= 64)
}
