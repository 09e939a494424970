//! Calls without a template's mark: JSON in a code fence or bare, Python, `Action:` lines, tags
//! with the tool's own name.

use super::{TextCall, TextCalls, is_example, object, python};
use serde_json::{Map, Value};

/// Maximum number of lines tried as the beginning of bare JSON.
const TRIES: usize = 64;

type Fits<'a> = &'a dyn Fn(&TextCall) -> bool;

/// Finds the calls that end a text.
pub(super) fn find(text: &str, fits: Fits<'_>) -> Option<TextCalls> {
    let found = fenced(text, fits)
        .or_else(|| bare(text, fits))
        .or_else(|| action(text, fits))
        .or_else(|| tagged(text, fits))?;
    let before = &text[..found.begin];
    (before.trim().is_empty() || !is_example(before)).then_some(found)
}

/// A code fence.
struct Fence<'a> {
    begin: usize,
    end: usize,
    info: &'a str,
    body: &'a str,
}

/// Returns the code fences of a text; an unclosed one ends with the text.
fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut open: Option<(usize, &str, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (begin, next) = (at, at + line.len());
        at = next;
        let Some(info) = line.trim().strip_prefix("```") else { continue };
        open = match open {
            None => Some((begin, info.trim(), next)),
            Some((first, kind, body)) if info.is_empty() => {
                fences.push(Fence { begin: first, end: next, info: kind, body: &text[body..begin] });
                None
            }
            still => still,
        };
    }
    if let Some((begin, info, body)) = open {
        fences.push(Fence {
            begin,
            end: text.len(),
            info,
            body: text[body..].trim_end().trim_end_matches('`'),
        });
    }
    fences
}

/// Returns the calls in code fences, if the last fence ends the text. If every fence is a call,
/// returns all of them; otherwise only the last one and those separated from it by nothing but
/// whitespace.
fn fenced(text: &str, fits: Fits<'_>) -> Option<TextCalls> {
    let fences = fences(text);
    let last = fences.last().filter(|last| text[last.end..].trim().is_empty())?;
    let read = |fence: &Fence<'_>| {
        let calls = match fence.info.to_lowercase().as_str() {
            "tool_code" | "python" | "py" => python::read(fence.body),
            "" | "json" | "jsonc" | "json5" | "tool_call" | "tool" | "tool_calls" | "text" | "plaintext"
            | "function" | "javascript" | "js" => object::read(fence.body)
                .or_else(|| python::read(fence.body))
                .or_else(|| tag_calls(fence.body)),
            "xml" | "html" => tag_calls(fence.body),
            _ => None,
        };
        calls.filter(|calls| calls.iter().all(fits))
    };
    let mut calls = read(last)?;
    let mut begin = last.begin;
    let all: Option<Vec<_>> = fences.iter().map(read).collect();
    if let Some(all) = all {
        return Some(TextCalls { begin: fences[0].begin, calls: all.into_iter().flatten().collect() });
    }
    for fence in fences.iter().rev().skip(1) {
        match read(fence).filter(|_| text[fence.end..begin].trim().is_empty()) {
            Some(more) => {
                calls.splice(0..0, more);
                begin = fence.begin;
            }
            None => break,
        }
    }
    Some(TextCalls { begin, calls })
}

/// Parses bare JSON or Python from the beginning of a line to the end of the text.
fn bare(text: &str, fits: Fits<'_>) -> Option<TextCalls> {
    let mut tries = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at + (line.len() - line.trim_start().len());
        at += line.len();
        let start = line.trim_start();
        let is_json = start.starts_with(['{', '[']);
        let is_python = start.contains('(')
            && start.starts_with(|char: char| char.is_alphabetic() || char == '_' || char == '[');
        if !is_json && !is_python || tries == TRIES {
            continue;
        }
        tries += 1;
        let rest = &text[begin..];
        let calls = if is_json { object::read(rest) } else { None };
        let calls = calls.or_else(|| python::read(rest).filter(|_| is_python));
        if let Some(calls) = calls.filter(|calls| calls.iter().all(fits)) {
            return Some(TextCalls { begin, calls });
        }
    }
    None
}

/// Parses `Action: NAME` and `Action Input: {…}`; drops an observation invented by the model.
fn action(text: &str, fits: Fits<'_>) -> Option<TextCalls> {
    let begin = text.rfind("Action:").filter(|at| *at == 0 || text[..*at].ends_with(['\n', ' ', '*']))?;
    let (name, rest) = text[begin + "Action:".len()..].split_once("Action Input:")?;
    let input = rest.split("\nObservation").next()?.trim().trim_matches('*').trim();
    let name = name.trim().trim_matches(['*', '`']).trim();
    if name.contains(char::is_whitespace) || name.is_empty() {
        return None;
    }
    let found = crate::repair::json::read(input).ok()?;
    let [arguments] = found.values.as_slice() else { return None };
    let call = TextCall { whole: !found.unclosed, ..TextCall::new(name, arguments) };
    let begin = begin - (text[..begin].len() - text[..begin].trim_end_matches('*').len());
    fits(&call).then(|| TextCalls { begin, calls: vec![call] })
}

/// Finds tags named after the tool and its arguments, from the beginning of a line to the end of
/// the text.
fn tagged(text: &str, fits: Fits<'_>) -> Option<TextCalls> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at + (line.len() - line.trim_start().len());
        at += line.len();
        if line.trim_start().starts_with('<')
            && let Some(calls) = tag_calls(&text[begin..]).filter(|calls| calls.iter().all(fits))
        {
            return Some(TextCalls { begin, calls });
        }
    }
    None
}

/// Parses `<file_read><path>a.py</path></file_read>`, once or several times.
fn tag_calls(text: &str) -> Option<Vec<TextCall>> {
    let mut calls = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, body, after) = element(rest)?;
        let mut arguments = Map::new();
        let mut inner = body.trim();
        if inner.starts_with('{') {
            calls.push(object::read(&format!("{{{name:?}: {inner}}}"))?.pop()?);
        } else {
            while !inner.is_empty() {
                let (key, value, next) = element(inner)?;
                let value = value.strip_prefix('\n').unwrap_or(value);
                arguments.insert(key.to_owned(), Value::from(value.strip_suffix('\n').unwrap_or(value)));
                inner = next.trim_start();
            }
            calls.push(TextCall::new(name, &Value::Object(arguments)));
        }
        rest = after.trim_start();
    }
    (!calls.is_empty()).then_some(calls)
}

/// Parses an element at the beginning of a text; returns its name, its content and the rest.
fn element(text: &str) -> Option<(&str, &str, &str)> {
    let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
    let is_name = !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || "_-".contains(char));
    let (body, after) = rest.split_once(&format!("</{name}>")).filter(|_| is_name)?;
    Some((name, body, after))
}
