//! Parses the marks that templates put around calls, where a server left them in the text.
//!
//! - Hermes, Qwen and GLM: `<tool_call>`
//! - Llama: `<function=NAME>`, `<|python_tag|>`
//! - Claude, MiniMax and DeepSeek 3.2: `<invoke name="NAME">`
//! - Mistral: `[TOOL_CALLS]`
//! - DeepSeek and Kimi: `<|tool_call_begin|>` (with their own bars and blanks)
//! - Granite and Phi: `<|tool_call|>`
//! - GPT-OSS: `to=functions.NAME`, and `functions.NAME({…})`
//!
//! Tags may have a namespace, in both the opening and the closing tag: `<ns:invoke name="NAME">`.

use super::{TextCall, TextCalls, is_example, object, python};
use crate::repair::json;
use serde_json::{Map, Value};

/// Marks that begin a call.
const OPENERS: [&str; 20] = [
    "<tool_call",
    "<tool_calls>",
    "<function_call",
    "<function_calls>",
    "<tool_use>",
    "<tools>",
    "<TOOLCALL>",
    "<toolcall>",
    "<function=",
    "<function name=",
    "<invoke ",
    "[TOOL_CALLS]",
    "<|tool_call",
    "<|python_tag|>",
    "<|start|>assistant",
    "<|channel|>commentary to=",
    "commentary to=",
    "to=functions.",
    "functions.",
    "<|DSML|",
];
/// DeepSeek's marks, with its own bars and blanks.
const WIDE: [&str; 2] = ["<｜tool▁call", "<｜DSML｜"];
/// Marks that may occur between calls and after them.
const BETWEEN: [&str; 29] = [
    "<tool_calls>",
    "</tool_calls>",
    "<function_calls>",
    "</function_calls>",
    "</tool_call>",
    "</function_call>",
    "</function>",
    "</invoke>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_calls_begin|>",
    "<|tool_calls_end|>",
    "<|tool_call_end|>",
    "<|DSML|function_calls>",
    "</|DSML|function_calls>",
    "<|DSML|tool_calls>",
    "</|DSML|tool_calls>",
    "<|call|>",
    "<|end|>",
    "<|start|>assistant",
    "<|/tool_call|>",
    "<|eom_id|>",
    "<|eot_id|>",
    "```",
    "</tools>",
    "</TOOLCALL>",
    "</s>",
];

/// DeepSeek's namespace; any other is a name and a colon.
const DSML: &str = "|DSML|";
/// Maximum length of a namespace's name in bytes.
const NAMESPACE_BYTES: usize = 32;

/// Maximum number of marks tried as the beginning of the calls.
const TRIES: usize = 64;

/// Whether a text begins with a mark, or may do so once more of it has arrived.
pub(super) fn may_begin(text: &str) -> bool {
    let begins = |text: &str, mark: &str| text.starts_with(mark) || mark.starts_with(text);
    if OPENERS.iter().chain(&WIDE).any(|mark| begins(text, mark)) {
        return true;
    }
    let Some(inside) = text.strip_prefix('<') else { return false };
    let name = name_length(inside);
    match inside[name..].strip_prefix(':') {
        Some(tag) => is_name(&inside[..name]) && tags().any(|mark| begins(tag, mark)),
        None => is_name(inside),
    }
}

/// Returns the marks that are tags and may have a namespace, without `<`.
fn tags() -> impl Iterator<Item = &'static str> {
    let tags = OPENERS.iter().filter_map(|mark| mark.strip_prefix('<'));
    tags.filter(|tag| tag.starts_with(|char: char| char.is_ascii_alphabetic()))
}

/// Returns the length of the name of letters, digits and punctuation that a text begins with.
fn name_length(text: &str) -> usize {
    text.find(|char: char| !(char.is_ascii_alphanumeric() || "_.-".contains(char))).unwrap_or(text.len())
}

/// Whether a text is the name of a namespace.
fn is_name(text: &str) -> bool {
    text.starts_with(|char: char| char.is_ascii_alphabetic())
        && name_length(text) == text.len()
        && text.len() <= NAMESPACE_BYTES
}

/// Splits the namespace off the inside of a tag; it is empty if there is none.
fn split_namespace(inside: &str) -> (&str, &str) {
    let name = name_length(inside);
    let length = match inside[name..].starts_with(':') && is_name(&inside[..name]) {
        true => name + 1,
        false if inside.starts_with(DSML) => DSML.len(),
        false => 0,
    };
    inside.split_at(length)
}

/// Strips the beginning of a tag in any namespace: `open` (`<` or `</`), the namespace, and `name`.
fn strip_tag<'a>(text: &'a str, open: &str, name: &str) -> Option<&'a str> {
    split_namespace(text.strip_prefix(open)?).1.strip_prefix(name)
}

/// Splits a text at the closing tag of an element. If none has the namespace of the opening tag,
/// one in another namespace closes the element.
fn split_closing<'a>(text: &'a str, space: &str, name: &str) -> Option<(&'a str, &'a str)> {
    text.split_once(&format!("</{space}{name}>")).or_else(|| {
        let mut closing = text.match_indices("</");
        closing.find_map(|(at, _)| {
            let after = strip_tag(&text[at..], "</", name)?.strip_prefix('>')?;
            Some((&text[..at], after))
        })
    })
}

/// Strips a mark that may occur between calls.
fn strip_between(text: &str) -> Option<&str> {
    let namespaced = |mark: &&str| {
        let open = if mark.starts_with("</") { "</" } else { "<" };
        strip_tag(text, open, mark.strip_prefix(open)?)
    };
    BETWEEN.iter().find_map(|mark| text.strip_prefix(mark)).or_else(|| BETWEEN.iter().find_map(namespaced))
}

/// Finds the calls that end a text.
pub(super) fn find(text: &str, fits: &dyn Fn(&TextCall) -> bool) -> Option<TextCalls> {
    // `calls` reads DeepSeek's marks with plain bars and blanks; `begin` is an offset in the
    // original text and stays valid.
    let mut from = 0;
    for _ in 0..TRIES {
        let begin = opener(text, from)?;
        from = begin + 1;
        let rest = text[begin..].replace('｜', "|").replace('▁', "_");
        let Some(calls) = calls(&rest) else { continue };
        let (begin, fenced) = fence_before(text, begin);
        let before = &text[..begin];
        if fenced && !before.trim().is_empty() && (is_example(before) || !calls.iter().all(fits)) {
            return None;
        }
        return Some(TextCalls { begin, calls });
    }
    None
}

/// Finds the next mark. It must not continue a word, so that a name containing `functions.` is not
/// one.
fn opener(text: &str, from: usize) -> Option<usize> {
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at))?;
    let rest = &text[from..];
    let plain = OPENERS.iter().filter_map(|mark| rest.find(mark));
    let wide = WIDE.iter().filter_map(|mark| rest.find(mark));
    let namespaced = rest.match_indices('<').map(|(at, _)| at).find(|at| {
        let (space, tag) = split_namespace(&rest[at + 1..]);
        !space.is_empty() && tags().any(|mark| tag.starts_with(mark))
    });
    let found = from + plain.chain(wide).chain(namespaced).min()?;
    let begins = text[..found]
        .chars()
        .next_back()
        .is_none_or(|before| !before.is_alphanumeric() && !"._".contains(before));
    match begins || text[found..].starts_with(['<', '[']) {
        true => Some(found),
        false => opener(text, found + 1),
    }
}

/// Returns the start of the code fence directly before the marks, if any, and whether there is one.
fn fence_before(text: &str, begin: usize) -> (usize, bool) {
    let before = text[..begin].trim_end();
    let line = before.rfind('\n').map_or(0, |at| at + 1);
    let open = before.lines().filter(|line| line.starts_with("```")).count() % 2 == 1;
    match open && before[line..].starts_with("```") {
        true => (line, true),
        false => (begin, false),
    }
}

/// Parses a text that only holds marked calls.
fn calls(text: &str) -> Option<Vec<TextCall>> {
    let mut calls = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        // The beginning of a harmony message is not skipped: it names the call.
        if let Some(after) = strip_between(rest) {
            rest = after;
            continue;
        }
        if rest.is_empty() {
            break;
        }
        // The model invented a result for its call.
        if !calls.is_empty()
            && ["tool_response>", "function_results>", "|tool_response|>"]
                .iter()
                .any(|mark| strip_tag(rest, "<", mark).is_some())
        {
            break;
        }
        let (found, after) = one(rest)?;
        calls.extend(found);
        rest = after;
    }
    (!calls.is_empty()).then_some(calls)
}

type Read<'a> = (Vec<TextCall>, &'a str);

fn one(text: &str) -> Option<Read<'_>> {
    invoke(text)
        .or_else(|| function(text))
        .or_else(|| begun(text))
        .or_else(|| listed(text))
        .or_else(|| harmony(text))
        .or_else(|| element(text))
        .or_else(|| namespaced(text))
}

/// Parses `<tool_call>…</tool_call>` and similar tags, with the content of any model family.
fn element(text: &str) -> Option<Read<'_>> {
    const TAGS: [&str; 7] =
        ["tool_call", "function_call", "tool_use", "tools", "TOOLCALL", "toolcall", "|tool_call|"];
    let (space, rest) = split_namespace(text.strip_prefix('<')?);
    let (tag, inside) =
        TAGS.into_iter().find_map(|tag| Some((tag, rest.strip_prefix(tag)?.strip_prefix('>')?)))?;
    let next = [format!("<{space}{tag}>"), format!("<{space}tool_response>"), "<tool_response>".to_owned()];
    let next = next.iter().filter_map(|next| inside.find(next)).min().unwrap_or(inside.len());
    let (body, after) = match split_closing(inside, space, tag) {
        Some((body, after)) if body.len() <= next => (body, after),
        _ => inside.split_at(next),
    };
    Some((body_calls(body.trim())?, after))
}

fn body_calls(body: &str) -> Option<Vec<TextCall>> {
    if let Some(calls) = object::read(body) {
        return Some(calls);
    }
    if body.starts_with('<') {
        return calls(body);
    }
    if body.starts_with(['{', '[', '`']) {
        // A call that cannot be parsed still counts, so that the model receives an error message.
        let name = object::name_in(body)?;
        return Some(vec![TextCall {
            name: name.to_owned(),
            arguments: broken_arguments(body).to_owned(),
            whole: false,
        }]);
    }
    let name_end =
        body.find(|char: char| !char.is_alphanumeric() && !"_.-".contains(char)).unwrap_or(body.len());
    let (name, rest) = (&body[..name_end], body[name_end..].trim_start());
    if name.is_empty() {
        return None;
    }
    if rest.starts_with("<arg_key>") {
        return Some(vec![TextCall::new(name, &Value::Object(pairs(rest)?))]);
    }
    if rest.starts_with('{') {
        return json_call(name, rest).map(|(call, _)| vec![call]);
    }
    python::read(body)
}

/// Returns the arguments in the text of a call that cannot be parsed.
fn broken_arguments(body: &str) -> &str {
    let at = ["\"arguments\"", "\"parameters\""].iter().find_map(|key| Some(body.find(key)? + key.len()));
    at.map_or(body, |at| body[at..].trim_start().trim_start_matches(':').trim())
}

/// Parses GLM's `<arg_key>K</arg_key><arg_value>V</arg_value>`.
fn pairs(text: &str) -> Option<Map<String, Value>> {
    let mut arguments = Map::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) = rest.strip_prefix("<arg_key>")?.split_once("</arg_key>")?;
        let (value, after) = after.trim_start().strip_prefix("<arg_value>")?.split_once("</arg_value>")?;
        arguments.insert(key.trim().to_owned(), Value::from(value));
        rest = after.trim();
    }
    Some(arguments)
}

/// Parses `<function=NAME>…</function>`, with JSON or parameters inside.
fn function(text: &str) -> Option<Read<'_>> {
    let rest = strip_tag(text, "<", "function=").or_else(|| strip_tag(text, "<", "function name="))?;
    parameters(rest, "function>", &["parameter=", "parameter name="])
}

/// Parses `<invoke name="NAME">…</invoke>`.
fn invoke(text: &str) -> Option<Read<'_>> {
    parameters(strip_tag(text, "<", "invoke name=")?, "invoke>", &["parameter name="])
}

/// Parses the name of a function and its content: JSON, or named parameters, up to the closing tag
/// `end`.
fn parameters<'a>(text: &'a str, end: &str, opens: &[&str]) -> Option<Read<'a>> {
    let (name, rest) = text.split_once('>')?;
    let name = name.trim().trim_matches(['"', '\'']);
    let mut rest = rest.trim_start();
    if rest.starts_with('{') {
        let (call, after) = json_call(name, rest)?;
        return Some((vec![call], strip_tag(after.trim_start(), "</", end).unwrap_or(after)));
    }
    let mut arguments = Map::new();
    while let Some(inside) = opens.iter().find_map(|open| strip_tag(rest, "<", open)) {
        let (space, _) = split_namespace(&rest[1..]);
        let (key, inside) = inside.split_once('>')?;
        let key = key.split_whitespace().next()?.trim_matches(['"', '\'']);
        // A value ends at its closing tag, and may contain other tags. Without a closing tag this
        // is not a call.
        let (value, after) = split_closing(inside, space, "parameter")?;
        let value = value.strip_prefix('\n').unwrap_or(value);
        arguments.insert(key.to_owned(), Value::from(value.strip_suffix('\n').unwrap_or(value)));
        rest = after.trim_start();
    }
    let after = match strip_tag(rest, "</", end) {
        Some(after) => after,
        None if rest.is_empty() || strip_tag(rest, "</", "tool_call>").is_some() => rest,
        None => return None,
    };
    Some((vec![TextCall::new(name, &Value::Object(arguments))], after))
}

/// Parses a call whose arguments are the JSON at the beginning of a text.
fn json_call<'a>(name: &str, text: &'a str) -> Option<(TextCall, &'a str)> {
    match json::prefix(text) {
        Ok((arguments, length)) => Some((TextCall::new(name, &arguments), &text[length..])),
        // Truncated: marked as incomplete, and never closed.
        Err(_) => {
            let end = text.find("</").or_else(|| text.find("<|")).unwrap_or(text.len());
            Some((
                TextCall { name: name.to_owned(), arguments: text[..end].to_owned(), whole: false },
                &text[end..],
            ))
        }
    }
}

/// Parses `<|tool_call_begin|>…<|tool_call_end|>` of DeepSeek and Kimi.
fn begun(text: &str) -> Option<Read<'_>> {
    let rest = text.strip_prefix("<|tool_call_begin|>")?;
    let (head, rest) =
        rest.split_once("<|tool_sep|>").or_else(|| rest.split_once("<|tool_call_argument_begin|>"))?;
    let (name, rest) = match head.trim() {
        "function" => rest.split_once('\n')?,
        name => (name, rest),
    };
    let rest = rest.trim_start().trim_start_matches("```json").trim_start();
    let (call, rest) = json_call(name.trim(), rest)?;
    Some((vec![call], rest.trim_start().trim_start_matches("```")))
}

/// Parses `[TOOL_CALLS]` with a list, or with names; `<|python_tag|>` and `<|tool_call|>` with
/// JSON.
fn listed(text: &str) -> Option<Read<'_>> {
    let mark = ["[TOOL_CALLS]", "<|python_tag|>", "<|tool_call|>"]
        .into_iter()
        .find(|mark| text.starts_with(mark))?;
    let rest = text[mark.len()..].trim_start();
    if rest.starts_with(['{', '[']) {
        let (value, length) = json::prefix(rest).ok()?;
        return Some((object::of(&value)?, rest[length..].trim_start_matches([';', ' '])));
    }
    if let Some((call, after)) = python::call(rest) {
        return Some((vec![call], after));
    }
    let end = rest.find(|char: char| !char.is_alphanumeric() && !"_.-".contains(char))?;
    let name = &rest[..end];
    let rest = match rest[end..].strip_prefix("[CALL_ID]") {
        Some(after) => &after[after.find('[')?..],
        None => &rest[end..],
    };
    let rest = rest.strip_prefix("[ARGS]").unwrap_or(rest).trim_start();
    let (call, after) = json_call(name, rest).filter(|_| rest.starts_with('{') && !name.is_empty())?;
    Some((vec![call], after))
}

/// Parses `<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>`, with
/// or without its marks.
fn harmony(text: &str) -> Option<Read<'_>> {
    let rest = text.strip_prefix("<|channel|>").unwrap_or(text);
    let rest = rest.strip_prefix("commentary").or_else(|| rest.strip_prefix("analysis")).unwrap_or(rest);
    let rest = rest.trim_start().strip_prefix("to=")?;
    let end = rest.find(|char: char| !char.is_alphanumeric() && !"_.-:".contains(char))?;
    let (name, rest) = (&rest[..end], &rest[end..]);
    let begin =
        rest.find('{').filter(|begin| rest[..*begin].len() <= 80 && !rest[..*begin].contains('\n'))?;
    let (call, after) = json_call(name, &rest[begin..])?;
    Some((vec![call], after))
}

/// Parses `functions.NAME({…})` and `functions.NAME {…}`.
fn namespaced(text: &str) -> Option<Read<'_>> {
    if !text.starts_with("functions.") {
        return None;
    }
    if let Some((call, after)) = python::call(text) {
        return Some((vec![call], after.trim_start_matches(';')));
    }
    let end = text.find(|char: char| !char.is_alphanumeric() && !"_.:".contains(char))?;
    let rest = text[end..].trim_start();
    let (call, after) = json_call(&text[..end], rest).filter(|_| rest.starts_with('{'))?;
    Some((vec![call], after))
}
