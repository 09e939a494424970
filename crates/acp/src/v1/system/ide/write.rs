//! Writes through the editor, for `ide_write_file` and `ide_edit`.

use super::IdeTool;
use crate::v1::system::{RESOURCE_NOT_FOUND, call::CallError, file_form};
use agent::{
    Diff, ToolContent, ToolContext, ToolError,
    tools::{self, ReadBack},
};
use system::{AbsPath, Claim, SystemError};

/// The result of a write.
pub(super) struct WriteResult {
    /// The file's text after the write, as far as it is known.
    pub(super) text: String,
    /// A note for the model; empty, or starts with a newline.
    pub(super) note: String,
}

impl IdeTool {
    /// Waits until no other call changes a file of the editor's machine, and keeps others waiting.
    pub(super) async fn claim(&self, cx: &ToolContext, name: &str) -> Result<Claim, ToolError> {
        let claim = Claim::in_process(vec![cx.cwd.join(name)]);
        cx.cancel.run_until_cancelled(claim).await.ok_or(ToolError::Cancelled(None))
    }

    /// Writes a text right after `before` was read, and if possible reads it back to verify that
    /// the editor accepted it.
    pub(super) async fn write(
        &self,
        cx: &ToolContext,
        name: &str,
        before: Option<&str>,
        text: &str,
    ) -> Result<WriteResult, ToolError> {
        let path = cx.cwd.join(name);
        match cx.cancel.run_until_cancelled(self.system.write_to_client(&path, text)).await {
            Some(written) => written.map_err(|error| self.failed("writing", path.as_str(), error))?,
            None => return Err(ToolError::Cancelled(Some(format!("the write of {name} had begun")))),
        }
        if !self.system.capabilities().reads() {
            return Ok(WriteResult { text: text.to_owned(), note: String::new() });
        }
        let read = async || match self.system.read_from_client(&path, None).await {
            Ok(text) => Ok(text),
            Err(error) if is_missing(&error) => Err(SystemError::NotFound(path.clone())),
            Err(error) => Err(self.system.caller.failure("reading", path.as_str(), error)),
        };
        let unread =
            |why: &str| format!("\nThe editor accepted the text, but it could not be read back: {why}");
        match tools::read_back(cx, before, text, read).await {
            Ok(ReadBack::Holds(now)) if tools::same_text(&now, text) => {
                Ok(WriteResult { text: now, note: String::new() })
            }
            Ok(ReadBack::Holds(now)) => {
                let note = "\nThe editor changed the text when it wrote it (formatting on save, for example). Read it again with ide_read_file.";
                Ok(WriteResult { text: now, note: note.to_owned() })
            }
            Ok(ReadBack::Unknown(why)) => Ok(WriteResult { text: text.to_owned(), note: unread(&why) }),
            Ok(ReadBack::Unchanged) => Err(ToolError::message(format!(
                "The editor did not apply the change of {name}: it reported that it wrote the file, but it still shows the old text. Read {name} again \
                 with ide_read_file before you repeat the change; it may still be applied."
            ))),
            Err(_) => Ok(WriteResult { text: text.to_owned(), note: unread("cancelled") }),
        }
    }
}

/// Returns a change for display.
pub(super) fn diff(cwd: &AbsPath, name: &str, old_text: Option<String>, new_text: String) -> ToolContent {
    ToolContent::Diff(Diff { path: cwd.join(name), old_text, new_text: Some(new_text) })
}

/// Returns whether a text was decoded from invalid UTF-8: writing it back would damage the file.
/// The disk, which would show it for certain, is on another machine.
pub(super) fn is_damaged(text: &str) -> bool {
    file_form::is_suspicious(text)
}

/// Returns the error for a file that is not the one that was to be changed any more.
pub(super) fn changed_meanwhile(name: &str) -> ToolError {
    ToolError::message(format!(
        "{name} changed while this call was on its way; nothing was written. Read it again with ide_read_file."
    ))
}

pub(super) fn not_decodable(name: &str) -> ToolError {
    ToolError::message(format!(
        "{name} holds characters that the editor could not decode, so it is not a text file of UTF-8; nothing was written. Change it with ide_terminal."
    ))
}

/// Returns whether a read failed because the file does not exist. Some clients report that only in
/// the message.
pub(super) fn is_missing(error: &CallError) -> bool {
    let says = |message: &str| {
        let message = message.to_lowercase();
        ["not found", "no such file", "enoent", "does not exist"].iter().any(|words| message.contains(words))
    };
    matches!(error, CallError::Refused { code, message } if *code == RESOURCE_NOT_FOUND || says(message))
}
