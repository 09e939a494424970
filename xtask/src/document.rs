//! Tables that a command writes into a document, between two markers.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Replaces what is between the markers of a document.
///
/// # Errors
///
/// Fails if the file cannot be read or written, or lacks a marker.
pub(crate) fn rewrite(path: &Path, markers: [&str; 2], content: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text =
        replaced(&text, markers, content).with_context(|| format!("cannot change {}", path.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Returns a text with what is between the markers replaced.
///
/// # Errors
///
/// Fails if the text lacks a marker.
pub(crate) fn replaced(text: &str, [begin, end]: [&str; 2], content: &str) -> Result<String> {
    let lacks = |marker: &str| format!("it lacks the marker {}", marker.trim());
    let (before, rest) = text.split_once(begin).with_context(|| lacks(begin))?;
    let (_, after) = rest.split_once(end).with_context(|| lacks(end))?;
    Ok(format!("{before}{begin}{content}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        assert_eq!(replaced("a<x>b</x>c", ["<x>", "</x>"], "new").unwrap(), "a<x>new</x>c");
        let error = replaced("a<x>b", ["<x>", "</x>"], "new").unwrap_err();
        assert_eq!(error.to_string(), "it lacks the marker </x>");
    }
}
