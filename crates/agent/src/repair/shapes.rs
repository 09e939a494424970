//! Translates arguments of other agents that have no counterpart here, but can be expressed with
//! the tool's own arguments.

use super::{
    fields,
    schema::{Fields, Schema},
};
use serde_json::Value;

/// Timeouts from this value on are in milliseconds: other agents use them, and hardly any command
/// is given three hours.
const MILLISECONDS_FROM: f64 = 10_000.0;

/// The result of reshaping arguments.
#[derive(Default)]
pub(super) struct Reshaped {
    pub(super) changed: bool,
    pub(super) notes: Vec<String>,
}

/// Expresses unsupported arguments with the tool's own ones.
pub(super) fn reshape(tool: &str, schema: &Schema<'_>, given: &mut Fields) -> Result<Reshaped, String> {
    let mut done = Reshaped::default();
    match tool {
        "file_read" => lines(schema, given, &mut done)?,
        "file_edit" => one_edit(schema, given, &mut done),
        "bash" => {
            command(given, &mut done)?;
            seconds(given, &mut done);
        }
        "grep" => search(schema, given, &mut done)?,
        _ => {}
    }
    Ok(done)
}

/// Converts a range of lines to a first line and a count.
fn lines(schema: &Schema<'_>, given: &mut Fields, done: &mut Reshaped) -> Result<(), String> {
    const RANGES: [&str; 5] = ["view_range", "line_range", "range", "viewrange", "lines"];
    const ENDS: [&str; 7] =
        ["end_line", "endline", "line_end", "end", "to_line", "last_line", "end_line_one_indexed_inclusive"];
    let range = remove(given, &RANGES, |value| matches!(value, Value::Array(_)) && !schema.has("view_range"));
    let (mut start, mut end) = (None, None);
    if let Some((name, Value::Array(range))) = range {
        match (range.first().and_then(whole), range.get(1).map(whole), range.len()) {
            (Some(first), None, 1) => start = Some(first),
            (Some(first), Some(Some(last)), 2) => (start, end) = (Some(first), Some(last)),
            _ => {
                return Err(format!(
                    "file_read: {name:?} is a list of two line numbers, the first and the last; nothing was read."
                ));
            }
        }
    }
    if let Some((name, value)) = remove(given, &ENDS, |_| !schema.has("end_line")) {
        end = match whole(&value) {
            Some(last) => Some(last),
            None if value.is_null() => None,
            None => return Err(format!("file_read: {name:?} is not a line number; nothing was read.")),
        };
    }
    if start.is_none() && end.is_none() {
        return Ok(());
    }
    done.changed = true;
    let begun = given.iter().find(|(name, _)| schema.named("file_read", name).as_deref() == Some("offset"));
    let first = start.or_else(|| begun.and_then(|(_, value)| whole(value))).unwrap_or(1).max(1);
    if let Some(start) = start {
        given.insert("offset".to_owned(), Value::from(start.max(1)));
    }
    match end {
        // -1 is the end of the file.
        Some(last) if last < 0 => {}
        Some(last) if last < first => {
            return Err(format!(
                "file_read: the last line, {last}, comes before the first, {first}; nothing was read."
            ));
        }
        Some(last) => {
            given.insert("limit".to_owned(), Value::from(last - first + 1));
        }
        None => {}
    }
    Ok(())
}

/// Unpacks a list of one edit if the tool takes a single edit.
fn one_edit(schema: &Schema<'_>, given: &mut Fields, done: &mut Reshaped) {
    if schema.has("edits") {
        return;
    }
    let single = |value: &Value| matches!(value, Value::Array(items) if matches!(items.as_slice(), [Value::Object(_)]));
    let Some((_, Value::Array(mut edits))) = remove(given, &["edits", "changes", "replacements"], single)
    else {
        return;
    };
    if let Some(Value::Object(edit)) = edits.pop() {
        given.extend(edit);
        done.changed = true;
    }
}

/// Converts a command given as a list of words to one line.
fn command(given: &mut Fields, done: &mut Reshaped) -> Result<(), String> {
    let names: Vec<String> = given.keys().cloned().collect();
    for name in names {
        let is_command = fields::target("bash", &name, |known| known == "command").is_some();
        let Some(Value::Array(words)) = given.get(&name).filter(|_| is_command) else { continue };
        let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
        let Some(words) = words else {
            return Err(
                "bash: the list of words contains something that is not text; nothing was run.".to_owned()
            );
        };
        let line = line_of(&words);
        given.insert(name, Value::String(line));
        done.changed = true;
    }
    Ok(())
}

/// Returns the command line for a list of words.
fn line_of(words: &[&str]) -> String {
    match words {
        [shell, flag, line]
            if is_shell(shell) && ["-c", "-lc", "-cl", "-ic", "/c", "-Command"].contains(flag) =>
        {
            (*line).to_owned()
        }
        [line] => (*line).to_owned(),
        words => words.iter().map(|word| crate::policy::quoted(word)).collect::<Vec<_>>().join(" "),
    }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    ["bash", "sh", "zsh", "dash"].contains(&name)
}

/// Converts a timeout in milliseconds to seconds.
fn seconds(given: &mut Fields, done: &mut Reshaped) {
    const MILLISECONDS: [&str; 4] = ["timeout_ms", "timeoutms", "timeout_millis", "timeout_milliseconds"];
    let named = remove(given, &MILLISECONDS, |value| number(value).is_some());
    let milliseconds = match named {
        Some((_, value)) => number(&value),
        None => {
            let timeout = given
                .iter()
                .find(|(name, _)| fields::target("bash", name, |known| known == "timeout").is_some());
            let over = timeout.and_then(|(name, value)| Some((name.clone(), number(value)?)));
            over.filter(|(_, value)| *value >= MILLISECONDS_FROM).map(|(name, value)| {
                given.remove(&name);
                value
            })
        }
    };
    if let Some(milliseconds) = milliseconds {
        let seconds = (milliseconds / 1000.0).ceil().max(1.0) as u64;
        given.insert("timeout".to_owned(), Value::from(seconds));
        done.changed = true;
        done.notes.push(format!("the timeout of {milliseconds} was taken as milliseconds: {seconds} s"));
    }
}

/// Expresses options of other search tools through the pattern and the glob.
fn search(schema: &Schema<'_>, given: &mut Fields, done: &mut Reshaped) -> Result<(), String> {
    let has = |names: &[&str]| names.iter().any(|name| schema.has(name));
    let folded = match remove(given, &["case_sensitive", "casesensitive"], |_| !schema.has("case_sensitive"))
    {
        Some((_, value)) if is_true(&value) == Some(false) => true,
        Some(_) => false,
        None if has(&["ignore_case", "case_insensitive"]) => false,
        None => {
            let given = remove(
                given,
                &["-i", "i", "case_insensitive", "ignore_case", "caseinsensitive", "ignorecase"],
                |_| true,
            );
            given.is_some_and(|(_, value)| is_true(&value) == Some(true))
        }
    };
    let literal = match has(&["literal", "fixed_strings"]) {
        true => None,
        false => remove(given, &["literal", "fixed_strings", "fixedstrings", "is_literal", "-f"], |_| true),
    };
    let literal = literal.is_some_and(|(_, value)| is_true(&value) == Some(true));
    let regex = remove(given, &["is_regex", "isregex", "isregexp", "use_regex"], |_| !schema.has("is_regex"));
    let literal = literal || regex.is_some_and(|(_, value)| is_true(&value) == Some(false));
    let pattern = |name: &str| schema.named("grep", name).as_deref() == Some("pattern");
    if (folded || literal)
        && let Some((_, Value::String(text))) = given.iter_mut().find(|(name, _)| pattern(name))
    {
        let body = if literal { regex_syntax_escape(text) } else { text.clone() };
        *text = format!("{}{body}", if folded { "(?i)" } else { "" });
        done.changed = true;
    }
    if let Some((name, value)) =
        remove(given, &["type", "file_type", "filetype", "language"], |_| !schema.has("type"))
    {
        let Some(glob) = value.as_str().and_then(fields::file_type) else {
            return Err(format!(
                "grep: {name:?} is not a known file type; select the files with \"glob\", such as *.py. Nothing was searched."
            ));
        };
        restrict(schema, given, glob.to_owned())?;
        done.changed = true;
    }
    let excluded = remove(given, &["exclude", "exclude_pattern", "excludepattern", "excludes"], |value| {
        value.is_string() && !schema.has("exclude")
    });
    if let Some((_, value)) = excluded
        && let Some(exclude) = value.as_str().filter(|text| !text.is_empty())
    {
        restrict(schema, given, format!("!{}", exclude.trim_start_matches('!')))?;
        done.changed = true;
    }
    Ok(())
}

/// Restricts a search to files; fails if it is already restricted.
fn restrict(schema: &Schema<'_>, given: &mut Fields, glob: String) -> Result<(), String> {
    let names = |name: &str| schema.named("grep", name).as_deref() == Some("glob");
    match given.iter().any(|(name, value)| names(name) && !value.is_null()) {
        true => {
            Err("grep takes one restriction of the files, as \"glob\"; two were given. Nothing was searched."
                .to_owned())
        }
        false => {
            given.insert("glob".to_owned(), Value::String(glob));
            Ok(())
        }
    }
}

/// Escapes a text for use in a regular expression.
fn regex_syntax_escape(text: &str) -> String {
    text.chars()
        .flat_map(|char| r"\.+*?()|[]{}^$#&-~".contains(char).then_some('\\').into_iter().chain([char]))
        .collect()
}

/// Removes the first of these arguments that is given with a `wanted` value.
fn remove(given: &mut Fields, names: &[&str], wanted: impl Fn(&Value) -> bool) -> Option<(String, Value)> {
    let is_one =
        |(name, value): &(&String, &Value)| names.contains(&fields::plain(name).as_str()) && wanted(value);
    let name = given.iter().find(is_one).map(|(name, _)| name.clone())?;
    given.remove(&name).map(|value| (name, value))
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_i64(),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    }
}

fn is_true(value: &Value) -> Option<bool> {
    match said(value).to_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" | "null" | "" => Some(false),
        _ => None,
    }
}

/// Returns a value as text, without the quotes of a string.
pub(super) fn said(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
