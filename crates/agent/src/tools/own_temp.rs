//! Says where the session's own temporary files are: other programs do not find them at the paths
//! that the session's tools and commands use.

use crate::ToolContext;
use std::sync::atomic::Ordering;
use system::AbsPath;

/// Returns the note for a file that was written; empty unless it is one of those.
pub(super) async fn note_of(cx: &ToolContext, path: &AbsPath) -> String {
    for temp in cx.system.own_temp() {
        let Some(below) = path.relative_to(&temp.at) else { continue };
        let stored = temp.files().join(below);
        if cx.system.metadata(&stored).await.is_ok() {
            return format!(
                "\nThis is a file of the session: the user and other programs find it at {stored}."
            );
        }
    }
    String::new()
}

/// Returns the note for the first command of a session after which there are such files; empty
/// otherwise.
pub(super) async fn note_once(cx: &ToolContext) -> String {
    if cx.session.temp_noted.load(Ordering::Relaxed) {
        return String::new();
    }
    for temp in cx.system.own_temp() {
        let files = temp.files();
        if cx.system.read_dir(&files).await.is_ok_and(|entries| !entries.is_empty()) {
            cx.session.temp_noted.store(true, Ordering::Relaxed);
            return format!(
                "\n(What commands write below {} are files of the session: the user and other programs find them in {files}.)",
                temp.at
            );
        }
    }
    String::new()
}
