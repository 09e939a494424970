//! Texts of tools as code blocks.

use super::limits::{REPORT_BYTES, REPORT_LINES};

/// Formats a tool's text as a code block, truncated at the end.
pub(crate) fn block(text: &str) -> String {
    let text = text.trim_end();
    let end = text
        .match_indices('\n')
        .nth(REPORT_LINES - 1)
        .map_or(text.len(), |(index, _)| index)
        .min(REPORT_BYTES);
    let end = agent::floor_char_boundary(text, end);
    let left = text[end..].trim_start_matches('\n').lines().count();
    let note = if left > 0 { format!("\n({left} more line(s) are in the tool call)") } else { String::new() };
    fenced(&text[..end]) + &note
}

/// Formats a tool's text as a code block, truncated at the start, since the errors of a command are
/// at the end.
pub(crate) fn block_end(text: &str) -> String {
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(REPORT_LINES - 1).map_or(0, |(index, _)| index + 1);
    let start = agent::ceil_char_boundary(text, start.max(text.len().saturating_sub(REPORT_BYTES)));
    let left = text[..start].lines().count();
    let note =
        if left > 0 { format!("({left} line(s) before are in the tool call)\n") } else { String::new() };
    note + &fenced(&text[start..])
}

/// Formats a text as a code block whose fence is longer than any in it.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}\n{text}\n{fence}")
}
