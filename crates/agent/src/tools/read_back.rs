//! Verifies that an editor holds a text after it acknowledged the write.
//!
//! Some editors respond before the text is in the buffer, and some respond without changing
//! anything. A change based on the old text would then undo the previous change, so the next change
//! waits until this one has arrived.

use super::cancel::unless_cancelled;
use crate::{
    ToolContext, ToolError,
    limits::{SAVED_WITHIN, TAKEN_PAUSE, TAKEN_PAUSE_MAX, TAKEN_WITHIN},
};
use std::time::Duration;
use system::SystemError;
use tokio::time::Instant;

/// The editor's state after a write that it acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadBack {
    /// The text that was sent, or the editor's own version of it.
    Holds(String),
    /// Still the text from before the write when the timeout expired.
    Unchanged,
    /// The state is unknown; contains the reason.
    Unknown(String),
}

/// Reads a file with `read` until it no longer contains the text from before a write (`None`: the
/// file did not exist) or a timeout expires. `read` must use the same route as the write.
///
/// # Errors
/// [`ToolError::Cancelled`] if the turn is cancelled.
pub async fn read_back<F: Future<Output = Result<String, SystemError>>>(
    cx: &ToolContext,
    before: Option<&str>,
    sent: &str,
    read: impl Fn() -> F,
) -> Result<ReadBack, ToolError> {
    within(TAKEN_WITHIN, cx, before, sent, read).await
}

/// Like [`read_back`], for an editor that accepts writes but cannot be read: `read` reads the disk,
/// which contains the text once the editor saves it.
pub(super) async fn saved<F: Future<Output = Result<String, SystemError>>>(
    cx: &ToolContext,
    before: Option<&str>,
    sent: &str,
    read: impl Fn() -> F,
) -> Result<ReadBack, ToolError> {
    within(SAVED_WITHIN, cx, before, sent, read).await
}

async fn within<F: Future<Output = Result<String, SystemError>>>(
    most: Duration,
    cx: &ToolContext,
    before: Option<&str>,
    sent: &str,
    read: impl Fn() -> F,
) -> Result<ReadBack, ToolError> {
    let deadline = Instant::now() + most;
    let mut pause = TAKEN_PAUSE;
    loop {
        match unless_cancelled(cx, read()).await? {
            Ok(text) if !is_old(before, sent, &text) => return Ok(ReadBack::Holds(text)),
            Err(error) if before.is_some() || !error.is_not_found() => {
                return Ok(ReadBack::Unknown(error.to_string()));
            }
            Ok(_) | Err(_) => {}
        }
        if Instant::now() >= deadline {
            return Ok(ReadBack::Unchanged);
        }
        unless_cancelled(cx, tokio::time::sleep(pause)).await?;
        pause = (pause * 2).min(TAKEN_PAUSE_MAX);
    }
}

/// Whether `text` is still the text from before a write that should have changed it. Some editors
/// present a missing file as an empty one.
fn is_old(before: Option<&str>, sent: &str, text: &str) -> bool {
    !same_text(text, sent) && same_text(text, before.unwrap_or_default())
}

/// Whether two texts differ only in their line endings.
pub fn same_text(a: &str, b: &str) -> bool {
    a == b || (a.contains('\r') != b.contains('\r') && a.replace("\r\n", "\n") == b.replace("\r\n", "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_from_before_is_old() {
        for (before, sent, text, old) in [
            (Some("a\n"), "b\n", "a\n", true),
            (Some("a\r\n"), "b\r\n", "a\n", true),
            (Some("a\n"), "b\n", "b\n", false),
            (Some("a\n"), "b\n", "b formatted\n", false),
            (Some("a\n"), "a\n", "a\n", false),
            (Some("a\n"), "a\r\n", "a\n", false),
            (Some(""), "b\n", "", true),
            (None, "b\n", "", true),
            (None, "", "", false),
            (None, "b\n", "b\n", false),
        ] {
            assert_eq!(is_old(before, sent, text), old, "{before:?} {sent:?} {text:?}");
        }
        assert!(same_text("a\r\nb\n", "a\nb\n") && !same_text("a\rb", "a\nb"));
    }
}
