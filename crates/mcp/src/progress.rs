//! Progress and log messages that a server sends during a call. They are shown as the call's
//! content, and count as signs of life.

use crate::{
    connection::locked,
    limits::{SAID_CHARS, SAID_EVERY, SAID_LINES},
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
pub(crate) struct Calls(Arc<Mutex<Vec<Running>>>);

struct Running {
    /// Known once the request was passed to the connection.
    token: Option<ProgressToken>,
    said: Arc<watch::Sender<Said>>,
}

/// What the server has sent about a call so far.
#[derive(Debug, Default, Clone)]
pub(crate) struct Said {
    lines: VecDeque<String>,
    progress: Option<String>,
}

/// A call, registered until it is dropped.
pub(crate) struct Talk {
    calls: Calls,
    said: Arc<watch::Sender<Said>>,
}

impl Calls {
    pub(crate) fn begin(&self) -> Talk {
        let said = Arc::new(watch::channel(Said::default()).0);
        locked(&self.0).push(Running { token: None, said: Arc::clone(&said) });
        Talk { calls: self.clone(), said }
    }

    /// Records the progress of a call. An unknown token belongs to the first call whose token is
    /// not known yet.
    pub(crate) fn progress(&self, given: &ProgressNotificationParam) {
        let running = locked(&self.0);
        let named = running.iter().find(|call| call.token.as_ref() == Some(&given.progress_token));
        let Some(call) = named.or_else(|| running.iter().find(|call| call.token.is_none())) else { return };
        let text = far(given);
        call.said.send_modify(|said| said.progress = Some(text));
    }

    /// Records a line of the server's log. The protocol does not assign it to a call, so it is
    /// shown with the most recent call. Without a line it only counts as a sign of life.
    pub(crate) fn logged(&self, logger: Option<&str>, line: Option<&Value>) {
        let line = line.map(|data| line_of(logger, data));
        if let Some(call) = locked(&self.0).last() {
            call.said.send_modify(|said| {
                said.lines.extend(line);
                if said.lines.len() > SAID_LINES {
                    said.lines.pop_front();
                }
            });
        }
    }
}

impl Talk {
    /// Sets the progress token of this call.
    pub(crate) fn is_named(&self, token: ProgressToken) {
        let mut running = locked(&self.calls.0);
        if let Some(call) = running.iter_mut().find(|call| Arc::ptr_eq(&call.said, &self.said)) {
            call.token = Some(token);
        }
    }

    /// Returns a receiver that changes with every message.
    pub(crate) fn heard(&self) -> watch::Receiver<Said> {
        self.said.subscribe()
    }

    /// Passes the text to `show` whenever it changes, at most once per `SAID_EVERY`. Never
    /// completes.
    pub(crate) async fn show(&self, show: &(dyn Fn(String) + Send + Sync)) {
        let mut heard = self.heard();
        // `self` holds the sender, so waiting cannot fail.
        let mut shown = String::new();
        while heard.changed().await.is_ok() {
            let said = heard.borrow_and_update().text();
            if said == shown {
                continue;
            }
            shown.clone_from(&said);
            show(said);
            tokio::time::sleep(SAID_EVERY).await;
        }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        locked(&self.calls.0).retain(|call| !Arc::ptr_eq(&call.said, &self.said));
    }
}

impl Said {
    /// Returns the log lines, followed by the progress.
    fn text(&self) -> String {
        let lines = self.lines.iter().chain(&self.progress);
        lines.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// Formats progress as `3 of 10: message`.
fn far(given: &ProgressNotificationParam) -> String {
    let far = match given.total {
        Some(total) => format!("{} of {total}", given.progress),
        None => given.progress.to_string(),
    };
    match &given.message {
        Some(message) if !message.trim().is_empty() => shown(&format!("{far}: {message}")),
        _ => far,
    }
}

/// Formats a log line: its message, or its data as JSON.
fn line_of(logger: Option<&str>, data: &Value) -> String {
    let text = match data.get("message").unwrap_or(data) {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let logger = logger.map(|logger| format!("{logger}: ")).unwrap_or_default();
    shown(&format!("{logger}{text}"))
}

/// Prepares a server's text for display on one line.
fn shown(text: &str) -> String {
    agent::one_line(&agent::sanitise(text)).chars().take(SAID_CHARS).collect()
}
