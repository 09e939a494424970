//! Texts of a document, of limited length.

use crate::limits::PARAMETER_CHARS;

/// Returns a description of a parameter for models: without control characters, and truncated.
pub(super) fn parameter_description(text: &str) -> String {
    truncate(&agent::sanitise(text), PARAMETER_CHARS)
}

/// Truncates a text, with a mark that there is more.
pub(super) fn truncate(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} […]", text[..end].trim_end()),
    }
}
