//! The state of a tool call as clients see it: upserts by id.

use super::{
    content::{Location, ToolContent},
    ids::ToolCallId,
    item::ToolResult,
};
use crate::text::colours::Colours;
use serde_json::Value;
use system::{AbsPath, ExitStatus};

/// A change of a tool call. Only the fields that are set change.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallUpdate {
    /// The call.
    pub id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The status.
    pub status: Option<ToolStatus>,
    /// What clients display of it.
    pub display: ToolCallDisplay,
    /// The result for the model; set exactly once, with the status that ends the call.
    pub result: Option<ToolResult>,
    /// New output of its command, if no terminal of the client shows it. Live only.
    pub output: Option<LiveOutput>,
    /// The colours of the text of `output`, else of the text of `result`.
    pub colours: Colours,
}

/// What clients display of a call. Only the fields that are set change.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCallDisplay {
    /// A one-line title.
    pub title: Option<String>,
    /// The kind of tool.
    pub kind: Option<ToolKind>,
    /// The content; replaces all earlier content.
    pub content: Option<Vec<ToolContent>>,
    /// The locations it works on; replaces all earlier ones.
    pub locations: Option<Vec<Location>>,
    /// The arguments.
    pub raw_input: Option<Value>,
    /// Where its command runs; set when it starts. Live only.
    pub place: Option<CommandPlace>,
}

/// Where the command of a call runs, and whether anything confines it there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandPlace {
    /// On this machine, in a sandbox.
    Sandbox,
    /// On this machine, and nothing confines it.
    Unconfined,
    /// In the client's terminal, in a sandbox.
    ClientSandbox,
    /// In the client's terminal; whether anything confines it there is not known.
    Client,
}

impl CommandPlace {
    /// Returns it in a word or two: `sandbox`, `no sandbox`, `editor`.
    pub fn words(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Unconfined => "no sandbox",
            Self::ClientSandbox => "editor, sandbox",
            Self::Client => "editor",
        }
    }
}

/// An event of a running command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveOutput {
    /// It was started in this directory.
    Started {
        /// Its working directory.
        cwd: AbsPath,
    },
    /// It wrote this output, after all that came before. If there is too much, some is left out and
    /// a line states so.
    Text(String),
    /// It ended.
    Ended(ExitStatus),
}

impl ToolCallUpdate {
    /// Creates an update that changes nothing yet.
    pub fn of(id: ToolCallId, name: impl Into<String>) -> Self {
        Self {
            id,
            name: name.into(),
            status: None,
            display: ToolCallDisplay::default(),
            result: None,
            output: None,
            colours: Colours::default(),
        }
    }

    /// Sets the status.
    pub fn status(mut self, status: ToolStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Replaces the content.
    pub fn content(mut self, content: Vec<ToolContent>) -> Self {
        self.display.content = Some(content);
        self
    }
}

/// The kind of a tool, for the client's icon.
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

/// The status of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    /// Announced; not yet decided or begun.
    Pending,
    /// Started: its effects may exist from here on, and it is never run again.
    InProgress,
    /// Succeeded.
    Completed,
    /// Failed or was refused.
    Failed,
    /// Cancelled together with its turn.
    Cancelled,
    /// The process ended while it ran; its effects are unknown. Never run again.
    Interrupted,
}

impl ToolStatus {
    /// Returns whether the call has ended.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Pending | Self::InProgress)
    }
}
