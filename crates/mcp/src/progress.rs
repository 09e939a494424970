//! Progress and log messages that a server sends during a call. They are shown as the call's
//! content, and count as signs of life.

use crate::{
    limits::{LOG_LINE_CHARS, LOG_LINES, PROGRESS_INTERVAL},
    locked::locked,
};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use tokio::sync::watch;

/// The running calls of a connection.
#[derive(Clone, Default)]
pub(crate) struct ProgressRegistry(Arc<Mutex<Vec<ProgressEntry>>>);

struct ProgressEntry {
    /// Known once the request was passed to the connection.
    token: Option<ProgressToken>,
    messages: Arc<watch::Sender<CallMessages>>,
}

/// What the server has sent about a call so far.
#[derive(Debug, Default, Clone)]
pub(crate) struct CallMessages {
    lines: VecDeque<String>,
    progress: Option<String>,
}

/// A call, registered until it is dropped.
pub(crate) struct CallProgress {
    calls: ProgressRegistry,
    messages: Arc<watch::Sender<CallMessages>>,
}

impl ProgressRegistry {
    pub(crate) fn begin(&self) -> CallProgress {
        let messages = Arc::new(watch::channel(CallMessages::default()).0);
        locked(&self.0).push(ProgressEntry { token: None, messages: Arc::clone(&messages) });
        CallProgress { calls: self.clone(), messages }
    }

    /// Records the progress of a call. An unknown token belongs to the first call whose token is
    /// not known yet.
    pub(crate) fn progress(&self, given: &ProgressNotificationParam) {
        let running = locked(&self.0);
        let named = running.iter().find(|call| call.token.as_ref() == Some(&given.progress_token));
        let Some(call) = named.or_else(|| running.iter().find(|call| call.token.is_none())) else { return };
        let text = progress_text(given);
        call.messages.send_modify(|messages| messages.progress = Some(text));
    }

    /// Records a line of the server's log. The protocol does not assign it to a call, so it is
    /// shown with the most recent call. Without a line it only counts as a sign of life.
    pub(crate) fn logged(&self, logger: Option<&str>, line: Option<&Value>) {
        let line = line.map(|data| log_line(logger, data));
        if let Some(call) = locked(&self.0).last() {
            call.messages.send_modify(|messages| {
                messages.lines.extend(line);
                if messages.lines.len() > LOG_LINES {
                    messages.lines.pop_front();
                }
            });
        }
    }
}

impl CallProgress {
    /// Sets the progress token of this call.
    pub(crate) fn set_token(&self, token: ProgressToken) {
        let mut running = locked(&self.calls.0);
        if let Some(call) = running.iter_mut().find(|call| Arc::ptr_eq(&call.messages, &self.messages)) {
            call.token = Some(token);
        }
    }

    /// Returns a receiver that changes with every message.
    pub(crate) fn subscribe(&self) -> watch::Receiver<CallMessages> {
        self.messages.subscribe()
    }

    /// Passes the text to `show` whenever it changes, at most once per `PROGRESS_INTERVAL`. Never
    /// completes.
    pub(crate) async fn show(&self, show: &(dyn Fn(String) + Send + Sync)) {
        let mut receiver = self.subscribe();
        // `self` holds the sender, so waiting cannot fail.
        let mut shown = String::new();
        while receiver.changed().await.is_ok() {
            let messages = receiver.borrow_and_update().text();
            if messages == shown {
                continue;
            }
            shown.clone_from(&messages);
            show(messages);
            tokio::time::sleep(PROGRESS_INTERVAL).await;
        }
    }
}

impl Drop for CallProgress {
    fn drop(&mut self) {
        locked(&self.calls.0).retain(|call| !Arc::ptr_eq(&call.messages, &self.messages));
    }
}

impl CallMessages {
    /// Returns the log lines, followed by the progress.
    fn text(&self) -> String {
        let lines = self.lines.iter().chain(&self.progress);
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// Formats progress as `3 of 10: message`.
fn progress_text(given: &ProgressNotificationParam) -> String {
    let progress_text = match given.total {
        Some(total) => format!("{} of {total}", given.progress),
        None => given.progress.to_string(),
    };
    match &given.message {
        Some(message) if !message.trim().is_empty() => display_line(&format!("{progress_text}: {message}")),
        _ => progress_text,
    }
}

/// Formats a log line: its message, or its data as JSON.
fn log_line(logger: Option<&str>, data: &Value) -> String {
    let text = match data.get("message").unwrap_or(data) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let logger = logger.map(|logger| format!("{logger}: ")).unwrap_or_default();
    display_line(&format!("{logger}{text}"))
}

/// Prepares a server's text for display on one line.
fn display_line(text: &str) -> String {
    agent::one_line(&agent::sanitise(text)).chars().take(LOG_LINE_CHARS).collect()
}
