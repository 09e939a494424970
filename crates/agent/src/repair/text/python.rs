//! Calls in Python syntax: `file_read(path="a.py")`, alone, in `print(…)`, on several lines or in a
//! list.

use super::TextCall;
use crate::repair::json;
use serde_json::{Map, Value};

/// Parses a text that only holds calls.
pub(super) fn read(text: &str) -> Option<Vec<TextCall>> {
    let mut rest = text.trim();
    if let Some(list) = rest.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
        rest = list.trim();
    }
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let (call, after) = call(rest)?;
        calls.push(call);
        rest = after.trim_start_matches(|char: char| char.is_whitespace() || ",;".contains(char));
    }
    (!calls.is_empty()).then_some(calls)
}

/// Parses one call at the beginning of a text; returns it and the rest.
pub(super) fn call(text: &str) -> Option<(TextCall, &str)> {
    if let Some(inner) = text.strip_prefix("print(") {
        let (call, rest) = call(inner.trim_start())?;
        return Some((call, rest.trim_start().strip_prefix(')')?));
    }
    let part = |char: char| char.is_alphanumeric() || "_.-".contains(char);
    let length = text.find(|char| !part(char))?;
    let name = text[..length].strip_suffix(".call").unwrap_or(&text[..length]);
    let first = name.chars().next()?;
    let mut rest = text[length..].trim_start().strip_prefix('(')?.trim_start();
    if !first.is_alphabetic() && first != '_' {
        return None;
    }
    let mut named = Map::new();
    let mut only = None;
    while !rest.starts_with(')') {
        let (key, after) = key(rest);
        let (value, length) = value(after)?;
        match key {
            Some(key) => drop(named.insert(key.to_owned(), value)),
            None if only.is_none() && named.is_empty() => only = Some(value),
            None => return None,
        }
        rest = after[length..].trim_start();
        match rest.strip_prefix(',') {
            Some(more) => rest = more.trim_start(),
            None if rest.starts_with(')') => {}
            None => return None,
        }
    }
    let arguments = match only {
        Some(_) if !named.is_empty() => return None,
        Some(only) => only,
        None => Value::Object(named),
    };
    Some((TextCall::new(name, &arguments), &rest[1..]))
}

/// Returns the name of a keyword argument, if any, and the text after it.
fn key(text: &str) -> (Option<&str>, &str) {
    let length = text.find(|char: char| !char.is_alphanumeric() && char != '_').unwrap_or(text.len());
    match text[length..].trim_start().strip_prefix('=') {
        Some(after) if length > 0 && !after.starts_with('=') => (Some(&text[..length]), after.trim_start()),
        _ => (None, text),
    }
}

fn value(text: &str) -> Option<(Value, usize)> {
    for quotes in ["\"\"\"", "'''"] {
        if let Some(inner) = text.strip_prefix(quotes) {
            let end = inner.find(quotes)?;
            // With an escape, the value is not the literal text, so it is refused.
            return (!inner[..end].contains('\\')).then(|| (Value::from(&inner[..end]), end + 6));
        }
    }
    json::prefix(text).ok()
}
