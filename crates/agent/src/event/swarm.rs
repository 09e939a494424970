//! What happens among a session's subagents, as far as whoever watches the session is told. Live only: each subagent has a log of its own.

use crate::ToolCallId;
use serde_json::Value;

/// A change among the subagents.
#[derive(Debug, Clone, PartialEq)]
pub enum SwarmEvent {
    /// Subagents were asked for.
    Spawned(Vec<SubagentCall>),
    /// Those that were asked for run, or wait for a place.
    Running(Vec<SubagentCall>),
    /// Subagents ended.
    Completed(Vec<SubagentEnd>),
    /// Something about any of them changed: all of them as they now are.
    State(SwarmState),
}

/// A call that asks for a subagent.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentCall {
    /// The call.
    pub id: ToolCallId,
    /// Its arguments, with the subagent's id where the model gave none.
    pub args: Value,
}

/// The end of a subagent.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentEnd {
    /// The arguments it was asked for with.
    pub args: Value,
    /// What it answered, or why it could not.
    pub result: String,
    /// Whether it did what it was asked.
    pub success: bool,
    /// Whether nobody waited for it: its answer is said to the session as a message.
    pub background: bool,
    /// The subagent at its end.
    pub state: SubagentState,
    /// Those that it asked for itself, and theirs.
    pub descendants: Vec<SubagentState>,
}

/// All subagents of a session at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SwarmState {
    /// The moment, in milliseconds since the epoch.
    pub at: i64,
    /// The model of the session.
    pub model: String,
    /// The subagents, in the order they were asked for.
    pub agents: Vec<SubagentState>,
    /// Tokens in the contexts of those that run.
    pub context_tokens: u64,
    /// How full the fullest of those contexts is, from 0 to 100.
    pub max_context_percent: f64,
    /// Tokens read from the provider's cache.
    pub cache_read: u64,
    /// Tokens written to it.
    pub cache_write: u64,
    /// How often results were taken out of a context to make room.
    pub prunes: u64,
    /// How often a context was summed up.
    pub compactions: u64,
    /// What all of it cost, in US dollars, where the prices are known.
    pub cost: Option<f64>,
}

/// A subagent as it now is. Times are in milliseconds since the epoch.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubagentState {
    /// Its id, unique in its session.
    pub id: String,
    /// Whoever asked for it, when that is a subagent.
    pub parent: Option<String>,
    /// How far below the session it is; 1 for those that the session asked for.
    pub depth: u32,
    /// What kind of agent it is: `explore`, `plan`, ….
    pub kind: String,
    /// What it is to do.
    pub task: String,
    /// `await` or `background`.
    pub mode: String,
    /// Those of one group run one after the other.
    pub group: Option<String>,
    /// Those that must be done before it.
    pub depends_on: Vec<String>,
    /// Where it stands.
    pub status: SubagentStatus,
    /// Why it waits.
    pub queue_reason: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// How often it was tried again.
    pub retries: u32,
    /// When it is tried again.
    pub next_retry_at: Option<i64>,
    /// The tool calls it made.
    pub tool_calls: u64,
    /// The last tool it called.
    pub last_tool: Option<String>,
    /// The beginning of what it said last.
    pub last_message: Option<String>,
    /// Tokens it sent.
    pub tokens_in: u64,
    /// Tokens it got.
    pub tokens_out: u64,
    /// When it began.
    pub started_at: Option<i64>,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// When it last did anything.
    pub active_at: Option<i64>,
    /// Where its whole answer is kept, when it is too long to be told.
    pub output: Option<KeptOutput>,
}

/// An answer that is kept elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutput {
    /// What it is known by.
    pub reference: String,
    /// Its size.
    pub bytes: u64,
    /// Its beginning.
    pub preview: String,
}

/// Where a subagent stands, in the order in which those that need attention come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum SubagentStatus {
    /// It failed, and is tried again.
    Retrying,
    /// It works.
    Running,
    /// It failed for good.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It waits for those that must be done before it.
    Waiting,
    /// It waits for a place among all subagents of this process.
    QueuedGlobal,
    /// It waits for its group.
    #[default]
    Queued,
    /// It ended well.
    Done,
}

impl SubagentStatus {
    /// Its word for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::Retrying => "retrying",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Waiting => "waiting",
            Self::QueuedGlobal => "queued_global",
            Self::Queued => "queued",
            Self::Done => "done",
        }
    }
}
