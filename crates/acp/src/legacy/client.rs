//! Who is told what happens in a run: text as it comes, and each file that was changed.

use super::message::{ApplyEdit, FileEdit, Outgoing, StreamParams};
use agent::{Client, FileChange, MessageId, PermissionOutcome, PermissionRequest, SessionEvent};
use async_trait::async_trait;
use std::{
    fmt::Write,
    sync::{Mutex, PoisonError},
};
use system::AbsPath;
use tokio::sync::mpsc::UnboundedSender;

/// The client of one run.
pub(super) struct RunClient {
    conversation: String,
    out: UnboundedSender<String>,
    /// The message whose text was told as it came.
    streamed: Mutex<Option<MessageId>>,
}

impl RunClient {
    pub(super) fn new(conversation: String, out: UnboundedSender<String>) -> Self {
        Self { conversation, out, streamed: Mutex::default() }
    }

    fn stream(&self, text: &str) {
        if !text.is_empty() {
            let params = StreamParams { conversation_id: &self.conversation, text };
            self.say(&Outgoing::notification("agent/stream", &params));
        }
    }

    fn edited(&self, change: &FileChange) {
        // This dialect cannot say that a file was removed, nor show one that is no text.
        let bytes = change.after.as_ref().and_then(|after| after.bytes.as_ref());
        let Some(Ok(new_text)) = bytes.map(|bytes| std::str::from_utf8(bytes)) else { return };
        let edit = ApplyEdit { changes: [FileEdit { uri: file_uri(&change.path), new_text }] };
        self.say(&Outgoing::notification("workspace/applyEdit", &edit));
    }

    fn say(&self, message: &impl serde::Serialize) {
        if let Ok(line) = serde_json::to_string(message) {
            // A client that has gone hears nothing.
            let _ = self.out.send(line);
        }
    }
}

#[async_trait]
impl Client for RunClient {
    fn notify(&self, event: &SessionEvent) {
        let mut streamed = self.streamed.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            SessionEvent::MessageDelta { id, text } => {
                *streamed = Some(id.clone());
                self.stream(text);
            }
            SessionEvent::ModelResponse(response) if streamed.as_ref() != Some(&response.id) => {
                self.stream(&response.text);
            }
            SessionEvent::FileChanged(change) => self.edited(change),
            _ => {}
        }
    }

    async fn request_permission(&self, _request: PermissionRequest) -> PermissionOutcome {
        PermissionOutcome::RejectOnce
    }

    fn rejection(&self, request: &PermissionRequest) -> Option<String> {
        Some(format!(
            "{} was denied: {} Nobody can be asked over this connection. To allow it, start tiller with --permission-mode prometheus \
             (or --yolo), or set tools.default_permission_mode.",
            request.title,
            request.question.trim_end()
        ))
    }
}

/// A path as a `file://` address.
fn file_uri(path: &AbsPath) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_str().bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_percent_encoded() {
        let path = AbsPath::new("/w/a b/ü#%.txt").unwrap();
        assert_eq!(file_uri(&path), "file:///w/a%20b/%C3%BC%23%25.txt");
    }
}
