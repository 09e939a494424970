//! Formats 1 to 11: the JSON of a body. Formats 2 to 11 are format 1 with additional kinds, which a
//! reader of format 1 would take for damage.
//!
//! Tool arguments are stored as JSON *text* within the JSON. So `null` stays distinct from absent,
//! and deeply nested arguments do not exceed the parser's depth limit because of what surrounds
//! them.

use super::tokens::Tokens;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Event {
    TurnStarted {
        turn: String,
        /// Older programs do not write this member, and ignore it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
    },
    UserMessage {
        id: String,
        content: Vec<Content>,
    },
    ModelResponse {
        id: String,
        thought_id: String,
        model: String,
        reasoning: Vec<Reasoning>,
        text: String,
        calls: Vec<Call>,
    },
    /// Format 10.
    AnswerPart {
        id: String,
        thought_id: String,
        model: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thoughts: String,
    },
    ToolCall(Box<ToolCall>),
    PermissionRequested {
        id: String,
        question: String,
    },
    PermissionResolved {
        id: String,
        outcome: PermissionOutcome,
        rule: String,
    },
    /// Not written any more.
    Plan {
        entries: Vec<PlanEntry>,
    },
    /// Format 8.
    Tasks {
        tasks: Vec<Task>,
    },
    /// Format 8.
    Goal {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<Goal>,
    },
    Usage {
        model: String,
        context_used: u64,
        context_size: u64,
        total: Tokens,
        /// Older programs do not write this member, and ignore it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subagents: Option<Tokens>,
        /// Older programs do not write this member, and ignore it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counted: Option<u64>,
    },
    ModeChanged {
        mode: Mode,
    },
    PermissionModeChanged {
        permission_mode: PermissionMode,
    },
    ModelChanged {
        model: String,
    },
    /// Format 2.
    EffortChanged {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effort: Option<Effort>,
    },
    TitleChanged {
        title: String,
    },
    /// Format 3.
    FileChanged(FileChange),
    /// Format 3.
    Rewound {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<u64>,
        files: Vec<FileChange>,
    },
    /// Format 4.
    Compaction {
        id: String,
        end: CompactionEnd,
    },
    /// Format 5.
    ResultsLeftOut {
        calls: Vec<String>,
        instead: String,
    },
    /// Format 7.
    Prefix {
        model: String,
        system: String,
        tools: Vec<Tool>,
    },
    /// Format 7.
    Briefing {
        text: String,
        facts: BTreeMap<String, String>,
    },
    /// Format 6: an answer that `model_response` cannot represent completely.
    Answer {
        id: String,
        thought_id: String,
        model: String,
        items: Vec<Item>,
    },
    TurnEnded {
        turn: String,
        end: TurnEnd,
    },
    /// Format 8.
    Subagent(Box<super::subagent::Subagent>),
    /// Format 11.
    NetworkUsed {
        call: String,
        hosts: Vec<HostUse>,
    },
}

/// Format 11: the use of one host at one port.
#[derive(Serialize, Deserialize)]
pub(super) struct HostUse {
    /// A name, an address or `localhost`.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) connections: u64,
    pub(super) sent: u64,
    pub(super) received: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rule: Option<String>,
}

/// Format 6: an item of an answer, in the model's order.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Item {
    Text {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    Reasoning(Reasoning),
    Call(Box<WrittenCall>),
    Other {
        opaque: String,
    },
}

/// Format 6: a call as the model wrote it. `arguments` is the received text.
#[derive(Serialize, Deserialize)]
pub(super) struct WrittenCall {
    pub(super) id: String,
    pub(super) provider_id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) opaque: Option<String>,
    /// The interpretation of the call, if it differs from the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) read: Option<ReadCall>,
}

/// Format 6: the interpreted tool name and arguments.
#[derive(Serialize, Deserialize)]
pub(super) struct ReadCall {
    pub(super) name: String,
    pub(super) arguments: Arguments,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CompactionEnd {
    Completed { summary: String, kept: u64 },
    Failed(String),
    Cancelled,
}

impl Event {
    /// Returns the oldest format that can represent the event.
    pub(super) fn format(&self) -> i64 {
        match self {
            Self::EffortChanged { effort: Some(Effort::Xhigh | Effort::Max) } => 6,
            Self::EffortChanged { .. } => 2,
            Self::FileChanged(_) | Self::Rewound { .. } => 3,
            Self::Compaction { .. } => 4,
            Self::ResultsLeftOut { .. } => 5,
            Self::Prefix { .. } | Self::Briefing { .. } => 7,
            Self::Answer { .. } => 6,
            Self::TurnEnded { end: TurnEnd::Stopped(StopReason::Suspended), .. } => 9,
            Self::AnswerPart { .. } => 10,
            Self::NetworkUsed { .. } => 11,
            Self::Tasks { .. } | Self::Goal { .. } | Self::Subagent(_) => 8,
            _ => 1,
        }
    }

    /// Returns the kind, as in the body.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::TurnStarted { .. } => "turn_started",
            Self::UserMessage { .. } => "user_message",
            Self::ModelResponse { .. } => "model_response",
            Self::AnswerPart { .. } => "answer_part",
            Self::ToolCall(_) => "tool_call",
            Self::PermissionRequested { .. } => "permission_requested",
            Self::PermissionResolved { .. } => "permission_resolved",
            Self::Plan { .. } => "plan",
            Self::Tasks { .. } => "tasks",
            Self::Goal { .. } => "goal",
            Self::Usage { .. } => "usage",
            Self::Subagent(_) => "subagent",
            Self::NetworkUsed { .. } => "network_used",
            Self::ModeChanged { .. } => "mode_changed",
            Self::PermissionModeChanged { .. } => "permission_mode_changed",
            Self::ModelChanged { .. } => "model_changed",
            Self::EffortChanged { .. } => "effort_changed",
            Self::TitleChanged { .. } => "title_changed",
            Self::FileChanged(_) => "file_changed",
            Self::Rewound { .. } => "rewound",
            Self::Compaction { .. } => "compaction",
            Self::ResultsLeftOut { .. } => "results_left_out",
            Self::Prefix { .. } => "prefix",
            Self::Briefing { .. } => "briefing",
            Self::Answer { .. } => "answer",
            Self::TurnEnded { .. } => "turn_ended",
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Content {
    Text {
        text: String,
    },
    Image {
        mime_type: String,
        data: String,
    },
    ResourceLink {
        uri: String,
        name: String,
    },
    Resource {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        text: String,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) struct Reasoning {
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) opaque: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) provider_id: String,
    pub(super) name: String,
    pub(super) arguments: Arguments,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Arguments {
    Json(String),
    Malformed { raw: String, error: String },
}

#[derive(Serialize, Deserialize)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool_kind: Option<ToolKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<ToolStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Vec<ToolContent>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) locations: Option<Vec<Location>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) raw_input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) result: Option<ToolResult>,
    /// Runs of the result's text: the first byte, the number of bytes, the ink.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) colours: Vec<(usize, usize, u32)>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToolContent {
    Content(Content),
    Diff {
        path: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_text: Option<String>,
    },
    Terminal(String),
}

/// A tool as models see it; `parameters` is the JSON text of its schema.
#[derive(Serialize, Deserialize)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Location {
    pub(super) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct FileChange {
    pub(super) path: String,
    /// The resolved path, if it differs from `path`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) real: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Snapshot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<Snapshot>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Snapshot {
    pub(super) hash: String,
    pub(super) size: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ToolResult {
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) images: Vec<Content>,
    pub(super) is_error: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PlanEntry {
    pub(super) content: String,
    pub(super) priority: PlanPriority,
    pub(super) status: PlanStatus,
}

/// Format 8: a goal.
#[derive(Serialize, Deserialize)]
pub(super) struct Goal {
    pub(super) id: String,
    pub(super) objective: String,
    pub(super) status: GoalStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token_budget: Option<u64>,
    pub(super) tokens_used: u64,
    pub(super) seconds_used: u64,
    pub(super) metered: u64,
}

/// Format 8: a task of the list.
#[derive(Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) subject: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) active_form: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
    pub(super) status: TaskStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) blocked_by: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TurnEnd {
    Stopped(StopReason),
    Failed(String),
}

/// Declares an enum of plain words that mirrors one of the domain. Both conversions are exhaustive,
/// so that a new word in the domain does not compile until it is added here.
macro_rules! words {
    ($($name:ident { $($word:ident),+ })+) => {$(
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum $name {
            $($word),+
        }

        impl From<agent::$name> for $name {
            fn from(word: agent::$name) -> Self {
                match word {
                    $(agent::$name::$word => Self::$word),+
                }
            }
        }

        impl From<$name> for agent::$name {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$word => Self::$word),+
                }
            }
        }
    )+};
}

words! {
    Effort { Low, Medium, High, Xhigh, Max }
    Mode { Edit, Plan, Ask }
    PermissionMode { Guardian, Argus, Prometheus }
    PermissionOutcome { AllowOnce, AllowAlways, AllowForUser, RejectOnce, RejectAlways, Cancelled }
    PlanPriority { High, Medium, Low }
    PlanStatus { Pending, InProgress, Completed }
    TaskStatus { Pending, InProgress, Completed, Cancelled, Failed }
    GoalStatus { Active, Paused, Interrupted, Blocked, BudgetLimited, Complete }
    StopReason { EndTurn, MaxTokens, MaxTurnRequests, Refusal, Cancelled, Suspended }
    ToolKind { Read, Edit, Delete, Move, Search, Execute, Think, Fetch, SwitchMode, Other }
    ToolStatus { Pending, InProgress, Completed, Failed, Cancelled, Interrupted }
}
