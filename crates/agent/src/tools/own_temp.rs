//! Says where the session's own temporary files are: other programs do not find them at the paths
//! that the session's tools and commands use.

use crate::ToolContext;
use std::sync::atomic::Ordering;
use system::{AbsPath, TEMP_PLACE};

/// Returns the note for a file that was written; empty unless it is one of those.
pub(super) fn note_of(cx: &ToolContext, path: &AbsPath) -> String {
    match cx.system.stored_elsewhere(path) {
        Some(stored) => {
            format!("\nThis is a file of the session: the user and other programs find it at {stored}.")
        }
        None => String::new(),
    }
}

/// Returns the note for the first command of a session after which there are such files; empty
/// otherwise.
pub(super) async fn note_once(cx: &ToolContext) -> String {
    if cx.session.temp_noted.load(Ordering::Relaxed) {
        return String::new();
    }
    let Some(temp) = cx.system.own_temp().await else { return String::new() };
    cx.session.temp_noted.store(true, Ordering::Relaxed);
    format!(
        "\n(What commands write below {TEMP_PLACE} are files of the session: the user and other programs find them in {temp}.)"
    )
}
