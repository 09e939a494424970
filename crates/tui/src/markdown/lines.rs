//! What a line of Markdown begins.

/// Returns the columns of white space that a line begins with; a tab ends at a multiple of four.
pub(super) fn indent(line: &str) -> usize {
    let mut columns = 0;
    for byte in line.bytes() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

/// Removes up to this many columns of white space from the beginning of a line.
pub(super) fn dedent(line: &str, columns: usize) -> &str {
    let mut at = 0;
    for (index, byte) in line.bytes().enumerate() {
        let next = match byte {
            b' ' => at + 1,
            b'\t' => at + 4 - at % 4,
            _ => return &line[index..],
        };
        if at >= columns || next > columns {
            return &line[index..];
        }
        at = next;
    }
    ""
}

/// The marker of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// `-`, `*`, `+`, `.` or `)`; items of one list have the same.
    pub(super) kind: u8,
    /// The number, in an ordered list.
    pub(super) number: Option<u64>,
    /// The columns before the item's content.
    pub(super) content: usize,
    /// The bytes before the item's content.
    pub(super) bytes: usize,
    /// Whether nothing follows the marker.
    pub(super) is_empty: bool,
}

/// Returns the marker that a line begins with, after its indentation.
pub(super) fn marker(line: &str) -> Option<Marker> {
    let text = line.trim_start_matches([' ', '\t']);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let kind = *text.as_bytes().get(digits)?;
    let number = match (digits, kind) {
        (0, b'-' | b'*' | b'+') => None,
        (1..=9, b'.' | b')') => Some(text[..digits].parse().ok()?),
        _ => return None,
    };
    let after = &text[digits + 1..];
    if is_thematic_break(line) || !(after.is_empty() || after.starts_with([' ', '\t'])) {
        return None;
    }
    let is_empty = after.trim().is_empty();
    let gap = indent(after);
    // Five columns and more are one, followed by indented code.
    let gap = if is_empty || gap > 4 { 1 } else { gap };
    let bytes = line.len() - text.len() + digits + 1 + (after.len() - dedent(after, gap).len());
    Some(Marker { kind, number, content: indent(line) + digits + 1 + gap, bytes, is_empty })
}

/// The beginning of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    /// `` ` `` or `~`.
    pub(super) byte: u8,
    /// How often.
    pub(super) length: usize,
    /// The columns before it, which are removed from its lines.
    pub(super) indent: usize,
    /// The bytes before its info string.
    pub(super) info: usize,
    /// The bytes before it, including markers of list items.
    pub(super) before: usize,
}

/// Returns the fence that a line begins. In a list item, it may follow further markers.
pub(super) fn fence(line: &str, in_item: bool) -> Option<Fence> {
    let (mut before, mut columns) = (0, 0);
    while in_item && let Some(marker) = marker(&line[before..]) {
        (before, columns) = (before + marker.bytes, columns + marker.content);
    }
    let text = line[before..].trim_start_matches([' ', '\t']);
    columns += indent(&line[before..]);
    before = line.len() - text.len();
    let byte = *text.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = text.bytes().take_while(|next| *next == byte).count();
    let info = &text[length..];
    if length < 3 || (byte == b'`' && info.contains('`')) || (!in_item && columns > 3) {
        return None;
    }
    Some(Fence { byte, length, indent: columns, info: before + length, before })
}

impl Fence {
    /// Returns whether a line ends the fence.
    pub(super) fn ends_with(&self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.bytes().all(|byte| byte == self.byte)
    }
}

/// Returns whether a line is a rule: three or more `*`, `-` or `_`.
pub(super) fn is_thematic_break(line: &str) -> bool {
    let mut bytes = line.bytes().filter(|byte| !matches!(byte, b' ' | b'\t'));
    let Some(first) = bytes.next().filter(|byte| matches!(byte, b'*' | b'-' | b'_')) else { return false };
    let mut count = 1;
    bytes.all(|byte| {
        count += 1;
        byte == first
    }) && count >= 3
        && indent(line) < 4
}

/// Returns whether a line is a heading that begins with `#`.
pub(super) fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    let level = text.bytes().take_while(|byte| *byte == b'#').count();
    let after = &text[level..];
    indent(line) < 4 && (1..=6).contains(&level) && (after.is_empty() || after.starts_with([' ', '\t']))
}

/// Returns whether a line is in a quotation.
pub(super) fn is_quote(line: &str) -> bool {
    indent(line) < 4 && line.trim_start_matches(' ').starts_with('>')
}

/// Returns whether a line is the second one of a table: `|---|:-:|`.
pub(super) fn is_delimiter_row(line: &str) -> bool {
    let text = line.trim();
    text.contains('-')
        && text.contains(['|', ':'])
        && text.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t'))
        && !text.trim_matches('|').split('|').any(|cell| !cell.contains('-'))
}

/// Returns whether a line ends a paragraph by beginning something else.
pub(super) fn interrupts(line: &str) -> bool {
    // A rule of hyphens below a paragraph makes it a heading.
    let is_rule = is_thematic_break(line) && !line.trim().bytes().all(|byte| byte == b'-');
    let is_item = indent(line) < 4
        && marker(line).is_some_and(|marker| !marker.is_empty && matches!(marker.number, None | Some(1)));
    is_rule || is_item || is_heading(line) || is_quote(line) || fence(line, false).is_some()
}
