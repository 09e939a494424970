//! Whether an editor that said it wrote a text holds that text.
//!
//! Some answer before the text is in the buffer, some answer and change nothing. A change that is
//! made on top of the old text would then undo the one before it, so the next one is made only when
//! this one is there.

use super::cancel::unless_cancelled;
use crate::{
    ToolContext, ToolError,
    limits::{SAVED_WITHIN, TAKEN_PAUSE, TAKEN_PAUSE_MAX, TAKEN_WITHIN},
};
use std::time::Duration;
use system::SystemError;
use tokio::time::Instant;

/// What an editor holds after a write that it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// This text: the one that was sent, or what the editor made of it.
    Holds(String),
    /// The text from before the write, to the end of the time that it was given.
    Nothing,
    /// Nobody can tell; why not.
    Unknown(String),
}

/// Reads a file until it no longer holds the text from before a write (`None`: there was no file),
/// at most for a bounded time. `read` reads it the way it was written.
///
/// # Errors
/// [`ToolError::Cancelled`] when the turn is.
pub async fn taken<F: Future<Output = Result<String, SystemError>>>(
    cx: &ToolContext,
    before: Option<&str>,
    sent: &str,
    read: impl Fn() -> F,
) -> Result<Taken, ToolError> {
    within(TAKEN_WITHIN, cx, before, sent, read).await
}

/// The same for an editor that takes writes and cannot be read: `read` reads the disk, where the
/// text is once it is saved.
pub(super) async fn saved<F: Future<Output = Result<String, SystemError>>>(
    cx: &ToolContext,
    before: Option<&str>,
    sent: &str,
    read: impl Fn() -> F,
) -> Result<Taken, ToolError> {
    within(SAVED_WITHIN, cx, before, sent, read).await
}

async fn within<F: Future<Output = Result<String, SystemError>>>(
    most: Duration,
    cx: &ToolContext,
    before: Option<&str>,
    sent: &str,
    read: impl Fn() -> F,
) -> Result<Taken, ToolError> {
    let deadline = Instant::now() + most;
    let mut pause = TAKEN_PAUSE;
    loop {
        match unless_cancelled(cx, read()).await? {
            Ok(text) if !is_old(before, sent, &text) => return Ok(Taken::Holds(text)),
            Err(error) if before.is_some() || !error.is_not_found() => {
                return Ok(Taken::Unknown(error.to_string()));
            }
            Ok(_) | Err(_) => {}
        }
        if Instant::now() >= deadline {
            return Ok(Taken::Nothing);
        }
        unless_cancelled(cx, tokio::time::sleep(pause)).await?;
        pause = (pause * 2).min(TAKEN_PAUSE_MAX);
    }
}

/// Whether a text is that from before a write which should have changed it. Some editors show a
/// file that does not exist as an empty one.
fn is_old(before: Option<&str>, sent: &str, text: &str) -> bool {
    !same_text(text, sent) && same_text(text, before.unwrap_or_default())
}

/// Whether two texts differ in nothing but how their lines end.
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
