//! Replaces what differs between two runs: paths, versions, ids, hashes, times.

use crate::home::Home;
use serde_json::Value;

/// The longest text that is shown in full, in lines.
const LINES: usize = 24;
/// The longest list in an object that is shown in full.
const ITEMS: usize = 3;
/// The longest string in an object that is shown in full, in characters.
const CHARS: usize = 160;
/// The shortest run of hexadecimal digits that is a hash.
const HASH: usize = 16;

/// The replacements of two homes and a session.
pub(super) struct Mask {
    replaced: Vec<(String, &'static str)>,
}

impl Mask {
    pub(super) fn new(homes: &[&Home], session: &str) -> Self {
        let mut replaced: Vec<_> =
            homes.iter().map(|home| (home.path().to_str().unwrap().to_owned(), "~HOME")).collect();
        replaced.push((session.to_owned(), "SESSION"));
        replaced.push((env!("CARGO_BIN_EXE_tiller").to_owned(), "TILLER"));
        replaced.push((env!("CARGO_PKG_VERSION").to_owned(), "VERSION"));
        Self { replaced }
    }

    /// Returns a text with its first lines only.
    pub(super) fn text(&self, text: &str) -> String {
        let lines: Vec<_> = text.lines().collect();
        let mut shown: String =
            lines.iter().take(LINES).map(|line| self.line(line).trim_end().to_owned() + "\n").collect();
        if lines.len() > LINES {
            shown += &format!("… {} more lines\n", lines.len() - LINES);
        }
        match text.ends_with('\n') {
            true => shown,
            false => shown.trim_end_matches('\n').to_owned(),
        }
    }

    /// Returns an object on a line, with the beginnings of long lists and texts only.
    pub(super) fn object(&self, object: &Value) -> String {
        self.value(object).to_string()
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let text = self.line(text);
                match text.chars().count() > CHARS {
                    true => Value::String(text.chars().take(CHARS).collect::<String>() + "…"),
                    false => Value::String(text),
                }
            }
            Value::Array(items) => {
                let mut shown: Vec<_> = items.iter().take(ITEMS).map(|item| self.value(item)).collect();
                if items.len() > ITEMS {
                    shown.push(Value::String(format!("… {} more", items.len() - ITEMS)));
                }
                Value::Array(shown)
            }
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    let is_measured = matches!(name.as_str(), "ms" | "memory_bytes");
                    let is_time = name.ends_with("_at") || name.ends_with("_ms") || name.starts_with("time");
                    let value = match (value, is_measured || is_time) {
                        (Value::Number(_), true) => Value::from(0),
                        (value, _) => self.value(value),
                    };
                    (self.line(name), value)
                };
                Value::Object(members.iter().map(member).collect())
            }
            other => other.clone(),
        }
    }

    fn line(&self, line: &str) -> String {
        let replace = |line: String, (from, to): &(String, &'static str)| line.replace(from, to);
        let line = self.replaced.iter().fold(line.to_owned(), replace);
        words(&line)
    }
}

/// Replaces times, hashes, ids and measured milliseconds.
fn words(line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.' | '_');
    let mut shown = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = match is_part(first) {
            true => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        let is_measured = after.starts_with(" ms") && word.bytes().all(|byte| byte.is_ascii_digit());
        shown += if is_measured { "N" } else { masked(word) };
        rest = after;
    }
    shown
}

fn masked(word: &str) -> &str {
    let bytes = word.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is_hex = bytes.iter().all(u8::is_ascii_hexdigit);
    let is_uuid = bytes.len() == 36 && bytes.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    let is_ulid = bytes.len() == 26 && digits(0..1) && bytes.iter().all(u8::is_ascii_alphanumeric);
    if digits(0..4) && bytes.get(4) == Some(&b'-') && digits(5..7) && bytes.get(10) == Some(&b'T') {
        "TIME"
    } else if bytes.len() == 10 && digits(0..4) && bytes[4] == b'-' && digits(5..7) && digits(8..10) {
        "DATE"
    } else if is_hex && bytes.len() >= HASH {
        "HASH"
    } else if is_uuid || is_ulid {
        "ID"
    } else {
        word
    }
}

#[test]
fn what_differs_between_runs_is_masked_and_nothing_else() {
    for (given, expected) in [
        ("at 2026-11-25T05:00:00Z, 12 ms", "at TIME, N ms"),
        ("#1 durable, 2026-11-25  Prefers", "#1 durable, DATE  Prefers"),
        ("hash: 0123456789abcdef0123 of a.b", "hash: HASH of a.b"),
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV and deadbeef", "ID and deadbeef"),
        ("123e4567-e89b-12d3-a456-426614174000", "ID"),
        ("12 tools in 3 s", "12 tools in 3 s"),
        ("…é", "…é"),
    ] {
        assert_eq!(words(given), expected);
    }
}
