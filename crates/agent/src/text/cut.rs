//! Cuts texts at a limit, always at a character boundary.

/// The beginning of every note that marks truncated output.
pub(crate) const TRUNCATED: &str = "[output truncated";

/// The note for output that was lost before it could be read.
pub(crate) const LOST: &str = "[output truncated]";

/// Returns the last lines of a text within limits of lines and bytes, without trailing whitespace.
pub(crate) fn last_lines(text: &str, lines: usize, bytes: usize) -> &str {
    tail(text.trim_end(), lines, bytes)
}

/// Returns the beginning of a text within both limits, cut after a whole line if there is one.
pub(crate) fn head(text: &str, lines: usize, bytes: usize) -> &str {
    let by_lines = match lines {
        0 => 0,
        _ => text.match_indices('\n').nth(lines - 1).map_or(text.len(), |(at, _)| at + 1),
    };
    if by_lines <= bytes {
        return &text[..by_lines];
    }
    let cut = &text[..floor_char_boundary(text, bytes)];
    cut.rfind('\n').map_or(cut, |end| &cut[..=end])
}

/// Returns the end of a text within both limits, cut before a whole line if there is one.
pub(crate) fn tail(text: &str, lines: usize, bytes: usize) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let by_lines = match lines {
        0 => text.len(),
        _ => body.rmatch_indices('\n').nth(lines - 1).map_or(0, |(at, _)| at + 1),
    };
    if text.len() - by_lines <= bytes {
        return &text[by_lines..];
    }
    let from = ceil_char_boundary(text, text.len().saturating_sub(bytes));
    let cut = &text[from..];
    let inner = cut.strip_suffix('\n').unwrap_or(cut);
    inner.find('\n').map_or(cut, |end| &cut[end + 1..])
}

/// Returns the beginning of a text, at most `bytes` long.
pub(crate) fn first_bytes(text: &str, bytes: usize) -> &str {
    &text[..floor_char_boundary(text, bytes)]
}

/// Returns the first `chars` characters of a line, with `...` if it was longer.
pub(crate) fn cut(line: &str, chars: usize) -> std::borrow::Cow<'_, str> {
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}...", &line[..at]).into(),
        None => line.into(),
    }
}

/// Returns the last character boundary at or before a byte index, like `str::floor_char_boundary`
/// of newer compilers than the oldest supported one.
pub fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// Returns the first character boundary at or after a byte index, like `str::ceil_char_boundary`.
pub fn ceil_char_boundary(text: &str, at: usize) -> usize {
    (at..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_lines_between_characters() {
        assert_eq!(cut("äöü", 2), "äö...");
        assert_eq!(cut("äöü", 3), "äöü");
    }
}
