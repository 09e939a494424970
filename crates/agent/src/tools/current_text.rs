//! The current text of a file, on which a change must be based.

use super::cancel::unless_cancelled;
use crate::{Fingerprint, ToolContext, ToolError, files::editor::Standing};
use system::{AbsPath, DiskSnapshot, Route, SystemError, TextEncoding};

/// The current text, on which a change must be based.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Now {
    /// The text; `None` if the file does not exist.
    pub(crate) text: Option<String>,
    /// The relation of the editor's text to the disk's.
    pub(crate) standing: Standing,
    /// The older text that the editor shows, if `standing` is [`Standing::Stale`].
    pub(super) shown: Option<String>,
    /// The text on disk, if the editor was compared with it.
    on_disk: Option<Fingerprint>,
}

impl Now {
    /// Returns whether the disk still has the text that the editor was compared with. Where only
    /// one of them counts, the write itself compares.
    pub(super) async fn is_current(&self, cx: &ToolContext, path: &AbsPath) -> Result<bool, ToolError> {
        if writes_blindly(cx) {
            return Ok(!cx.session.files.editor().is_not_saved(path));
        }
        if cx.system.routes().read_text != Route::Client {
            return Ok(true);
        }
        let now = unless_cancelled(cx, cx.system.read_text_on_disk(path)).await?;
        Ok(now.is_ok_and(|now| now.as_deref().map(Fingerprint::of) == self.on_disk))
    }
}

/// Returns the text that a change must be based on, from the editor or the disk; `None` if the file
/// does not exist. Fails if the editor holds text that would be lost by a change.
pub(crate) async fn text_now(cx: &ToolContext, path: &AbsPath, name: &str) -> Result<Now, ToolError> {
    let disk = beside_client(cx, cx.system.read_disk_snapshot(path));
    let read = async { futures::join!(cx.system.read_text(path, None), disk) };
    let (held, disk) = unless_cancelled(cx, read).await?;
    let held = match held {
        Ok(text) => Some(text),
        Err(SystemError::NotFound(_)) => None,
        Err(error) => return Err(unreadable(name, error)),
    };
    // The routes are read after the text: a client that turns out not to support reads has changed
    // them by now.
    let routes = cx.system.routes();
    let is_on_disk = match &disk {
        Some(look) => look.metadata.is_ok(),
        None => held.is_some() && routes.read_text != Route::Client,
    };
    if !is_on_disk {
        in_the_project(cx, path, name).await?;
    }
    let only = |text: Option<String>| Now { text, standing: Standing::Same, shown: None, on_disk: None };
    let Some(DiskSnapshot { text: on_disk, encoding, .. }) =
        disk.filter(|_| routes.read_text == Route::Client)
    else {
        let print = held.as_deref().map(Fingerprint::of);
        if writes_blindly(cx) && cx.session.files.editor().awaits_save(path, print) {
            return Err(ToolError::message(format!(
                "{name} was written through the editor, which has not saved it and cannot be read; nothing was written. Ask the user to save the file, \
                 read it again with file_read, then try again."
            )));
        }
        return Ok(only(held));
    };
    // An editor may not know a file that exists on disk, and its text may be out of date.
    let on_disk = match (on_disk, &held) {
        (Ok(text), _) => text,
        // The editor's decoding of such bytes does not preserve them.
        (Err(error @ SystemError::NotText { .. }), _) => return Err(unreadable(name, error)),
        // The disk's text is too long to be compared, say, but the editor's can still be changed.
        (Err(_), Some(_)) if routes.write_text == Route::Client => return Ok(only(held)),
        (Err(error), _) => return Err(unreadable(name, error)),
    };
    let print = on_disk.as_deref().map(Fingerprint::of);
    let Some(held) = held else { return Ok(Now { on_disk: print, ..only(on_disk) }) };
    let standing = cx.session.files.editor().compare(path, &held, on_disk.as_deref());
    let is_written_by_client = routes.write_text == Route::Client;
    // A client that decodes such bytes as UTF-8 would write its decoded version.
    if is_written_by_client && standing != Standing::Same && encoding != TextEncoding::Utf8 {
        return Err(ToolError::message(format!(
            "{name} is {encoding} text on disk, and the editor shows another text, perhaps because it reads it as UTF-8; nothing was written. Ask the \
             user to save it or to open it again in that encoding, then try again."
        )));
    }
    match standing {
        Standing::Stale => Ok(Now { text: on_disk, standing, shown: Some(held), on_disk: print }),
        // Only the disk's text keeps its line endings, so it is the text to change.
        Standing::Same if !is_written_by_client && on_disk.is_some() => {
            Ok(Now { text: on_disk, standing, shown: None, on_disk: print })
        }
        Standing::Same => Ok(Now { text: Some(held), standing, shown: None, on_disk: print }),
        Standing::Conflict => Err(ToolError::message(format!(
            "{name} was changed on disk (by a command, say) and in the editor, in different ways; nothing was written. Ask the user to save the file or to \
             reload it, so that there is one text, then read it again."
        ))),
        Standing::Unsaved if !is_written_by_client => Err(ToolError::message(format!(
            "The editor holds unsaved changes of {name} and cannot take writes; nothing was written. Ask the user to save the file, then try again."
        ))),
        Standing::Unsaved => Ok(Now { text: Some(held), standing, shown: None, on_disk: print }),
    }
}

/// Rejects a file in the project if the project's directory is missing, because a write would
/// recreate it.
async fn in_the_project(cx: &ToolContext, path: &AbsPath, name: &str) -> Result<(), ToolError> {
    if !path.starts_with(&cx.cwd) {
        return Ok(());
    }
    match unless_cancelled(cx, cx.system.metadata(&cx.cwd)).await? {
        Err(SystemError::NotFound(_)) => Err(ToolError::message(format!(
            "{name} was not written: the project folder {} does not exist on this machine (any more). It is not created again. Ask the user where the \
             project is now.",
            cx.cwd
        ))),
        _ => Ok(()),
    }
}

/// Runs a query of the disk while the editor is being read; `None` unless reads go to the client.
/// Yields first, so that the request to the editor is sent first. Only the time depends on that,
/// so there is no signal for it through [`System`](system::System).
pub(super) async fn beside_client<T>(cx: &ToolContext, look: impl Future<Output = T>) -> Option<T> {
    match cx.system.routes().read_text {
        Route::Client => {
            tokio::task::yield_now().await;
            Some(look.await)
        }
        Route::Local | Route::Refused => None,
    }
}

/// Whether the client accepts writes but cannot be read: its version of a text is known only once
/// it saves.
pub(super) fn writes_blindly(cx: &ToolContext) -> bool {
    let routes = cx.system.routes();
    routes.write_text == Route::Client && routes.read_text != Route::Client
}

/// Fails with [`SystemError::Changed`] if a file has another text.
pub(super) async fn expect_text(
    cx: &ToolContext,
    path: &AbsPath,
    text: Option<&str>,
) -> Result<(), ToolError> {
    match text_now(cx, path, path.as_str()).await?.text.as_deref() == text {
        true => Ok(()),
        false => Err(SystemError::Changed(path.clone()).into()),
    }
}

fn unreadable(name: &str, error: SystemError) -> ToolError {
    ToolError::message(match error {
        SystemError::IsDirectory(_) => format!("{name} is a directory."),
        SystemError::NotText { size, .. } => format!(
            "{name} is not a text file ({size} bytes of binary data, or text in an unknown encoding); it was not changed. Use bash for binary files."
        ),
        other => format!("{name} could not be read, so it was not changed: {other}"),
    })
}
