//! The seam to whoever drives a session: an editor, a script, a terminal, a parent session.

use crate::{AnyTool, Location, SessionEvent, ToolCallId, ToolContent, ToolKind};
use async_trait::async_trait;
use serde_json::Value;
use std::sync::Arc;

/// Whoever drives a session.
#[async_trait]
pub trait Client: Send + Sync {
    /// Tells of an event. Never blocks and never fails: a slow client gets merged text, not a stalled turn.
    fn notify(&self, event: &SessionEvent);

    /// Asks for a permission and waits for the answer as long as the client takes; the caller cancels by dropping the future. No
    /// answer, an unknown answer or an error is [`PermissionOutcome::Cancelled`] or a rejection, never an approval.
    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome;

    /// The tools it brings: what can be done where it is. Asked once, when a session is made or opened.
    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        Vec::new()
    }

    /// Waits until what was notified so far has been handed to the transport, so that a response can follow it.
    async fn flush(&self) {}
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct PermissionRequest {
    /// The call.
    pub id: ToolCallId,
    /// The tool.
    pub name: String,
    /// One line for people: what will happen, where.
    pub title: String,
    /// The question in words, with what made it necessary.
    pub question: String,
    /// What kind of thing it does.
    pub kind: ToolKind,
    /// What it shows: the diff that will be written, the command that will run.
    pub content: Vec<ToolContent>,
    /// Where it works.
    pub locations: Vec<Location>,
    /// The arguments.
    pub raw_input: Value,
    /// What "always" would cover, in words: `cargo test …` in this session.
    pub grant_label: String,
}

/// The answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionOutcome {
    /// This once.
    AllowOnce,
    /// This and its like, for the session.
    AllowAlways,
    /// Not this once.
    RejectOnce,
    /// Neither this nor its like, for the session.
    RejectAlways,
    /// Nobody answered: the request was dismissed, or the turn cancelled.
    Cancelled,
}

impl PermissionOutcome {
    /// Whether the call may run.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }
}
