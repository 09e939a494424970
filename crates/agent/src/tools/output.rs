//! The one place that keeps a result within the limits.

use crate::ToolLimits;

/// What stands where text was left out.
pub(super) const TRUNCATED: &str = "[output truncated]";

/// Bytes kept free for the note that says what was left out, and for what a tool adds after it.
const NOTE_BYTES: usize = 200;

/// A text cut to the limits, its beginning kept; a note at the end says what is missing. Never longer than the limits, note included.
pub fn cap(text: String, limits: &ToolLimits) -> String {
    if fits(&text, limits) {
        return text;
    }
    let total = text.lines().count();
    let lines = limits.output_lines.saturating_sub(1);
    let bytes = limits.output_bytes.saturating_sub(NOTE_BYTES);
    let end = text.match_indices('\n').nth(lines.saturating_sub(1)).map_or(text.len(), |(at, _)| at);
    let kept = &text[..floor(&text, end.min(bytes))];
    let shown = kept.lines().count();
    format!("{kept}\n{TRUNCATED} {shown} of {total} lines shown, {} of {} bytes", kept.len(), text.len())
}

/// A text cut to the limits, its end kept. Leaves room for a last line that a tool adds.
pub(super) fn cap_tail(text: String, limits: &ToolLimits) -> String {
    let lines = limits.output_lines.saturating_sub(3);
    let bytes = limits.output_bytes.saturating_sub(NOTE_BYTES);
    if text.len() <= bytes && text.lines().count() <= lines {
        return text;
    }
    let by_bytes = ceil(&text, text.len().saturating_sub(bytes));
    let body = text.trim_end_matches('\n').len();
    let by_lines = match lines {
        0 => text.len(),
        _ => text[..body].rmatch_indices('\n').nth(lines - 1).map_or(0, |(at, _)| at + 1),
    };
    let kept = &text[by_bytes.max(by_lines)..];
    let kept = kept.strip_prefix(TRUNCATED).unwrap_or(kept).trim_start_matches('\n');
    format!("{TRUNCATED}\n{kept}")
}

/// The first `chars` characters of a line, with `...` when something was cut.
pub(super) fn cut(line: &str, chars: usize) -> std::borrow::Cow<'_, str> {
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}...", &line[..at]).into(),
        None => line.into(),
    }
}

/// The last character boundary at or before a byte.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The first character boundary at or after a byte.
pub(super) fn ceil(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

fn fits(text: &str, limits: &ToolLimits) -> bool {
    text.len() <= limits.output_bytes && text.lines().count() <= limits.output_lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(output_lines: usize, output_bytes: usize) -> ToolLimits {
        ToolLimits { output_lines, output_bytes, ..ToolLimits::default() }
    }

    #[test]
    fn stays_within_the_limits_at_either_end() {
        for text in
            ["", "a", &"ü".repeat(5_000), &"line\n".repeat(3_000), &"\n".repeat(9_000), &"🦀\n".repeat(900)]
        {
            for (lines, bytes) in [(2_000, 50_000), (10, 50_000), (2_000, 1_000), (5, 400), (3, 201)] {
                let limits = limits(lines, bytes);
                for capped in [cap(text.to_owned(), &limits), cap_tail(text.to_owned(), &limits)] {
                    assert!(capped.len() <= bytes, "{} bytes of {bytes}", capped.len());
                    assert!(capped.lines().count() <= lines, "{} lines of {lines}", capped.lines().count());
                }
            }
        }
    }

    #[test]
    fn says_what_is_missing() {
        let text = "one\ntwo\nthree\nfour".to_owned();
        assert_eq!(
            cap(text.clone(), &limits(3, 1_000)),
            "one\ntwo\n[output truncated] 2 of 4 lines shown, 7 of 18 bytes"
        );
        assert_eq!(cap(text.clone(), &limits(4, 1_000)), text);
        assert_eq!(cap_tail(text.clone(), &limits(5, 1_000)), "[output truncated]\nthree\nfour");
        assert_eq!(cap_tail(text.clone(), &limits(7, 1_000)), text);
    }

    #[test]
    fn cuts_lines_between_characters() {
        assert_eq!(cut("äöü", 2), "äö...");
        assert_eq!(cut("äöü", 3), "äöü");
    }
}
