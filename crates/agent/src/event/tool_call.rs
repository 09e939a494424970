//! A tool call as clients follow it: upserts by id.

use super::{
    content::{Location, ToolContent},
    ids::ToolCallId,
    item::ToolResult,
};
use serde_json::Value;
use system::{AbsPath, ExitStatus};

/// What is new about a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallUpdate {
    /// The call.
    pub id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// One line for people.
    pub title: Option<String>,
    /// What kind of thing it does.
    pub kind: Option<ToolKind>,
    /// Where it stands.
    pub status: Option<ToolStatus>,
    /// What it shows; replaces what it showed before.
    pub content: Option<Vec<ToolContent>>,
    /// Where it works; replaces the places before.
    pub locations: Option<Vec<Location>>,
    /// The arguments.
    pub raw_input: Option<Value>,
    /// What the model gets; set exactly once, with the status that ends the call.
    pub result: Option<ToolResult>,
    /// What its command has just done, where no client's terminal shows it. Live only.
    pub output: Option<LiveOutput>,
}

/// What a running command has just done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveOutput {
    /// It was started in this folder.
    Started {
        /// Where it runs.
        cwd: AbsPath,
    },
    /// It said this, after all that came before. Where it says too much, some is left out and a line tells so.
    Text(String),
    /// It ended.
    Ended(ExitStatus),
}

impl ToolCallUpdate {
    /// An update that changes nothing yet.
    pub fn of(id: ToolCallId, name: impl Into<String>) -> Self {
        Self {
            id,
            name: name.into(),
            title: None,
            kind: None,
            status: None,
            content: None,
            locations: None,
            raw_input: None,
            result: None,
            output: None,
        }
    }

    /// Sets the status.
    pub fn status(mut self, status: ToolStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Replaces the content.
    pub fn content(mut self, content: Vec<ToolContent>) -> Self {
        self.content = Some(content);
        self
    }
}

/// What kind of thing a tool does, for the client's icon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own words")]
pub enum ToolKind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    SwitchMode,
    Other,
}

/// Where a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    /// Announced; not decided or not begun.
    Pending,
    /// Started: its effects may exist from here on, and it is never run again.
    InProgress,
    /// Ended well.
    Completed,
    /// Ended badly, or was refused.
    Failed,
    /// Ended because the turn was cancelled.
    Cancelled,
    /// The process ended while it ran; nobody knows what it did. Never run again.
    Interrupted,
}

impl ToolStatus {
    /// Whether nothing more will happen to the call.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::InProgress)
    }
}
