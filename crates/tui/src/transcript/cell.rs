//! A cell of the transcript: one message, one call, one event.

use super::output::Output;
use crate::diff::FileDiff;
use agent::{
    CommandPlace, CompactionId, MessageId, PermissionOutcome, PlanEntry, Severity, SubagentStatus,
    ToolCallId, ToolKind, ToolStatus, TurnId,
};

/// A cell. It has ids and source texts, never rendered lines.
#[derive(Debug, Clone)]
pub struct Cell {
    /// What it shows.
    pub body: Body,
    /// Counts its changes.
    pub revision: u32,
}

/// What a cell shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A message of the user.
    User(UserMessage),
    /// Text of the model.
    Answer(Said),
    /// Reasoning of the model.
    Thought(Said),
    /// A tool call.
    Tool(Box<ToolCell>),
    /// Information that is not part of the conversation.
    Notice {
        /// Its severity.
        severity: Severity,
        /// One line.
        title: String,
        /// The rest, if any.
        description: Option<String>,
    },
    /// The turn failed.
    Failure {
        /// The turn.
        turn: TurnId,
        /// The provider of the model that was asked, if it is known.
        provider: Option<String>,
        /// What happened.
        what: String,
        /// What to do next; empty if nothing is known.
        next: String,
    },
    /// The turn stopped before the model was done; the value says why.
    Stopped {
        /// The turn.
        turn: TurnId,
        /// Why.
        why: &'static str,
    },
    /// The plan changed.
    Plan(Vec<PlanEntry>),
    /// A setting changed, or the goal did: `mode`, `plan`.
    Changed {
        /// What changed.
        what: &'static str,
        /// To what.
        value: String,
    },
    /// The conversation is being summarised, or was.
    Compaction(CompactionCell),
    /// Changes of files were undone, or redone.
    Rewound {
        /// The turn it went back to; `None` for a redo.
        to: Option<u64>,
        /// The files.
        files: Vec<String>,
    },
    /// A subagent was requested.
    SubagentStarted {
        /// Its id.
        id: String,
        /// Its kind.
        kind: String,
        /// Its task.
        task: String,
    },
    /// A subagent ended.
    SubagentEnded {
        /// Its id.
        id: String,
        /// How.
        status: SubagentStatus,
        /// Its answer, or why it failed.
        result: String,
    },
}

/// A message of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserMessage {
    /// The message.
    pub id: MessageId,
    /// Its text.
    pub text: String,
    /// What is attached: `image image/png, 12 kB`, `src/page.rs`.
    pub attachments: Vec<String>,
}

/// Text or reasoning of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The message.
    pub id: MessageId,
    /// Its text so far, in Markdown.
    pub text: String,
    /// Whether the text is complete.
    pub is_done: bool,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCell {
    /// The call; `None` only by default.
    pub id: Option<ToolCallId>,
    /// What the call is.
    pub heading: Heading,
    /// Its kind.
    pub kind: Option<ToolKind>,
    /// Its status.
    pub status: Option<ToolStatus>,
    /// The command line it runs, if it runs one.
    pub command: Option<String>,
    /// Where its command runs, while it does.
    pub place: Option<CommandPlace>,
    /// What it shows.
    pub shown: Shown,
    /// What the user was asked about it.
    pub permission: Permission,
}

/// What a call is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heading {
    /// The tool's name.
    pub name: String,
    /// The title, one line.
    pub title: String,
    /// What it reports to do while it runs, in place of the title.
    pub progress: Option<String>,
    /// The lines it reads: `1–120`.
    pub lines: Option<String>,
}

/// What a call shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Changes of files.
    pub diffs: Vec<FileDiff>,
    /// Its output, while it runs, or its result.
    pub output: Output,
    /// Whether this comes from events that are not stored.
    pub is_live: bool,
}

/// What the user was asked about a call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permission {
    /// Whether the answer is awaited.
    pub is_asking: bool,
    /// The answer, and who or what gave it.
    pub ruling: Option<(PermissionOutcome, String)>,
}

/// A compaction of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionCell {
    /// The compaction.
    pub id: CompactionId,
    /// How it ended; `None` while it goes on.
    pub end: Option<CompactionEnd>,
}

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionEnd {
    /// The summary.
    Done(String),
    /// Why it failed.
    Failed(String),
    /// The turn was cancelled.
    Cancelled,
}

impl Cell {
    pub(super) fn new(body: Body) -> Self {
        Self { body, revision: 0 }
    }

    /// Returns whether the cell will not change any more.
    pub fn is_settled(&self) -> bool {
        match &self.body {
            Body::Answer(said) | Body::Thought(said) => said.is_done,
            Body::Tool(tool) => tool.status.is_some_and(ToolStatus::is_final),
            Body::Compaction(compaction) => compaction.end.is_some(),
            _ => true,
        }
    }

    /// Returns the texts that can be copied and searched, as they came.
    pub fn sources(&self) -> Vec<&str> {
        match &self.body {
            Body::User(message) => [message.text.as_str()]
                .into_iter()
                .chain(message.attachments.iter().map(String::as_str))
                .collect(),
            Body::Answer(said) | Body::Thought(said) => vec![&said.text],
            Body::Tool(tool) => {
                let mut all = vec![tool.heading.name.as_str(), &tool.heading.title];
                all.extend(tool.command.as_deref());
                for diff in &tool.shown.diffs {
                    all.push(&diff.path);
                    all.extend(diff.lines.iter().map(|line| line.text.as_str()));
                }
                all.push(tool.shown.output.text());
                all
            }
            Body::Notice { title, description, .. } => {
                [title.as_str()].into_iter().chain(description.as_deref()).collect()
            }
            Body::Failure { what, next, .. } => vec![what, next],
            Body::Stopped { why, .. } => vec![why],
            Body::Plan(entries) => entries.iter().map(|entry| entry.content.as_str()).collect(),
            Body::Changed { what, value } => vec![what, value],
            Body::Compaction(CompactionCell { end, .. }) => match end {
                Some(CompactionEnd::Done(text) | CompactionEnd::Failed(text)) => vec![text],
                Some(CompactionEnd::Cancelled) | None => Vec::new(),
            },
            Body::Rewound { files, .. } => files.iter().map(String::as_str).collect(),
            Body::SubagentStarted { id, kind, task } => vec![id, kind, task],
            Body::SubagentEnded { id, result, .. } => vec![id, result],
        }
    }

    /// Returns the text to copy, without escape sequences.
    pub fn copied(&self) -> String {
        let text = match &self.body {
            Body::Tool(tool) => {
                let mut parts = Vec::new();
                parts.push(tool.command.clone().unwrap_or_else(|| tool.heading.title.clone()));
                parts.extend(tool.shown.diffs.iter().map(FileDiff::unified));
                parts.push(tool.shown.output.text().trim_end().to_owned());
                parts.retain(|part| !part.is_empty());
                parts.join("\n")
            }
            _ => self.sources().join("\n"),
        };
        agent::sanitise(&text)
    }
}
