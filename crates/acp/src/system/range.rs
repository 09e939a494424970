//! Ranges of lines, for clients that do not cut them out themselves.

use system::TextRange;

/// How many lines a text has; a last one without an end counts.
pub(super) fn lines(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// The lines of a range, with their ends; empty past the end.
pub(super) fn cut(text: &str, range: TextRange) -> String {
    text.split_inclusive('\n').skip(range.line.saturating_sub(1)).take(range.limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_by_one_based_lines() {
        for (text, line, limit, expected) in [
            ("a\nb\nc\n", 1, 2, "a\nb\n"),
            ("a\nb\nc", 3, 9, "c"),
            ("a\r\nb", 1, 1, "a\r\n"),
            ("a", 2, 1, ""),
            ("", 1, 1, ""),
            ("a\nb", 0, 1, "a\n"),
        ] {
            assert_eq!(cut(text, TextRange { line, limit }), expected, "{text:?} from {line}");
        }
        assert_eq!((lines(""), lines("a"), lines("a\n"), lines("a\nb")), (0, 1, 1, 2));
    }
}
