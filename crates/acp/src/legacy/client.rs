//! The `Client` of a run: sends text as it arrives, and each changed file.

use super::{
    message::{ApplyEdit, FileEdit, Outgoing, StreamParams},
    output_queue::OutputQueue,
};
use agent::{
    Client, FileChange, MessageId, PermissionMode, PermissionOutcome, PermissionRequest, SessionEvent,
};
use async_trait::async_trait;
use std::{
    collections::HashMap,
    fmt::Write,
    sync::{Mutex, PoisonError},
};
use system::AbsPath;

/// The client of one run.
pub(super) struct RunClient {
    conversation: String,
    /// The permission mode, for advice about requests that this dialect cannot ask about.
    mode: PermissionMode,
    out: OutputQueue,
    /// The message whose text was streamed.
    streamed: Mutex<Option<MessageId>>,
    /// The text of each file as last sent.
    last_sent: Mutex<HashMap<AbsPath, String>>,
}

impl RunClient {
    pub(super) fn new(conversation: String, mode: PermissionMode, out: OutputQueue) -> Self {
        Self { conversation, mode, out, streamed: Mutex::default(), last_sent: Mutex::default() }
    }

    /// Sends a file's whole text, unless the same text was sent last.
    pub(super) fn changed(&self, path: &AbsPath, new_text: &str) {
        let mut last_sent = self.last_sent.lock().unwrap_or_else(PoisonError::into_inner);
        if last_sent.get(path).is_some_and(|last_sent| last_sent == new_text) {
            return;
        }
        last_sent.insert(path.clone(), new_text.to_owned());
        let edit = ApplyEdit { changes: [FileEdit { uri: file_uri(path), new_text }] };
        self.send(&Outgoing::notification("workspace/applyEdit", &edit));
    }

    fn stream(&self, text: &str) {
        if !text.is_empty() {
            let params = StreamParams { conversation_id: &self.conversation, text };
            self.send(&Outgoing::notification("agent/stream", &params));
        }
    }

    fn send_change(&self, change: &FileChange) {
        // This dialect cannot report a deleted or a binary file.
        let bytes = change.after.as_ref().and_then(|after| after.bytes.as_ref());
        let Some(Ok(new_text)) = bytes.map(|bytes| std::str::from_utf8(bytes)) else { return };
        self.changed(&change.path, new_text);
    }

    fn send(&self, message: &impl serde::Serialize) {
        if let Ok(line) = serde_json::to_string(message) {
            self.out.send(line);
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
                self.stream(&response.text());
            }
            SessionEvent::FileChanged(change) => self.send_change(change),
            _ => {}
        }
    }

    async fn request_permission(&self, _request: PermissionRequest) -> PermissionOutcome {
        PermissionOutcome::RejectOnce
    }

    async fn room(&self) {
        self.out.room().await;
    }

    fn rejection(&self, request: &PermissionRequest) -> Option<String> {
        // A request without a lasting grant needs approval in every mode.
        let in_every_mode = request.grant_label.is_empty() || self.mode == PermissionMode::Prometheus;
        let advice = match in_every_mode {
            true => {
                "It needs approval in every permission mode: do it yourself, or use a client that can approve it."
            }
            false => {
                "To allow it, start the program with --permission-mode prometheus, or set \
                 tools.default_permission_mode; a request cannot."
            }
        };
        let question = request.question.trim_end();
        Some(format!(
            "{} was denied: {question} No user can approve it over this connection. {advice}",
            request.description.title
        ))
    }
}

/// Converts a path to a `file://` URI.
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
    fn file_uris_are_percent_encoded() {
        let path = AbsPath::new("/w/a b/ü#%.txt").unwrap();
        assert_eq!(file_uri(&path), "file:///w/a%20b/%C3%BC%23%25.txt");
    }
}
