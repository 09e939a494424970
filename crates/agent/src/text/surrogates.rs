//! Replaces lone UTF-16 surrogates in JSON: `"\ud83d"` by itself is not a character.
//!
//! `JSON.stringify("a😀".slice(0, 2))` produces such a text, and so does a client that cuts output
//! at a UTF-16 index. The JSON parser rejects the whole line because of it. As with invalid UTF-8,
//! the character is replaced and the rest is processed.

use std::borrow::Cow;

/// Replaces a lone surrogate.
const REPLACEMENT: &str = "\\ufffd";

/// Replaces every lone surrogate in a JSON text with U+FFFD, also in keys. Returns the text itself
/// if there is none; text without an escape that can be a surrogate is not parsed.
pub fn without_halves(json: &str) -> Cow<'_, str> {
    match may_hold_any(json) {
        true => replaced(json),
        false => Cow::Borrowed(json),
    }
}

fn replaced(line: &str) -> Cow<'_, str> {
    let mut out: Option<String> = None;
    // The text before this index is already in `out`.
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &line.as_bytes()[at..]) {
        at += found;
        match half(line, at) {
            // An escape of one character, which may be a backslash.
            None => at = next(line, at),
            Some(Half::High) if half(line, at + 6) == Some(Half::Low) => at += 12,
            Some(_) => {
                let out = out.get_or_insert_with(|| String::with_capacity(line.len()));
                out.push_str(&line[copied..at]);
                out.push_str(REPLACEMENT);
                at += 6;
                copied = at;
            }
        }
    }
    match out {
        Some(mut out) => {
            out.push_str(&line[copied..]);
            Cow::Owned(out)
        }
        None => Cow::Borrowed(line),
    }
}

/// Returns whether surrogates may occur; a fast check without false negatives.
fn may_hold_any(line: &str) -> bool {
    memchr::memmem::find(line.as_bytes(), b"\\ud").is_some()
        || memchr::memmem::find(line.as_bytes(), b"\\uD").is_some()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Returns the surrogate that the escape at a position encodes, if it does.
fn half(line: &str, at: usize) -> Option<Half> {
    let escape = line.as_bytes().get(at..at + 6)?;
    let [b'\\', b'u', b'd' | b'D', kind, third, fourth] = escape else { return None };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match kind {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Half::High),
        b'c'..=b'f' | b'C'..=b'F' => Some(Half::Low),
        _ => None,
    }
}

/// Returns the position after a backslash and the character that it escapes.
fn next(line: &str, at: usize) -> usize {
    line[at + 1..].chars().next().map_or(line.len(), |escaped| at + 1 + escaped.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn lone_halves_are_replaced_and_everything_else_is_left() {
        for (line, expected) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\uDE00""#, r#""\ufffd""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00""#, r#""\uD83D\uDE00""#),
            (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\\\\ud83d""#, r#""\\\\ud83d""#),
            (r#""\ud83d\\ude00""#, r#""\ufffd\\ude00""#),
            (r#""\ud83dx\ude00""#, r#""\ufffdx\ufffd""#),
            (r#""\ud83d\n""#, r#""\ufffd\n""#),
            (r#"{"\ud83d":"\u00fc"}"#, r#"{"\ufffd":"\u00fc"}"#),
            (r#""\ud7ff\ue000""#, r#""\ud7ff\ue000""#),
            (r#""ü\ud83d""#, r#""ü\ufffd""#),
            // Not JSON: left to the parser.
            (r#""\ud8"#, r#""\ud8"#),
            (r#""\ud8zz""#, r#""\ud8zz""#),
            ("\"\\", "\"\\"),
            ("\"\\ü", "\"\\ü"),
        ] {
            assert_eq!(replaced(line), expected, "{line}");
            assert!(may_hold_any(line) || replaced(line) == line, "{line}");
        }
    }

    proptest! {
        /// Any mixture of surrogates, pairs, escapes and text becomes valid JSON, and text that was
        /// valid is not changed.
        #[test]
        fn every_string_of_escapes_becomes_json(pieces in prop::collection::vec(
            prop::sample::select(vec![r"\ud83d", r"\uDBFF", r"\ude00", r"\uDC00", r"\\", r"\n", r"\u00fc", "u", "ud83d", "ü", "d", "🦀"]), 0..12)) {
            let line = format!("{{\"{0}\":[\"{0}\"]}}", pieces.concat());
            let out = replaced(&line);
            prop_assert!(serde_json::from_str::<Value>(&out).is_ok(), "{}", out);
            let again = replaced(&out);
            prop_assert_eq!(again.as_ref(), out.as_ref());
            if serde_json::from_str::<Value>(&line).is_ok() {
                prop_assert_eq!(out.as_ref(), line.as_str());
            }
        }

        #[test]
        fn no_line_panics(line in "[\\\\uUdD0-9a-fü\"]{0,40}") {
            let _ = replaced(&line);
        }
    }
}
