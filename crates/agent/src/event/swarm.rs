//! The subagents of a session: their state, which the session's log keeps, and live events about
//! them. What a subagent does is in the log of its own session.

use crate::{SessionId, ToolCallId, Usage};
use serde_json::Value;

/// A change among the subagents.
#[derive(Debug, Clone, PartialEq)]
pub enum SwarmEvent {
    /// Subagents were requested.
    Spawned(Vec<SubagentCall>),
    /// The requested subagents run, or wait for a free slot.
    Running(Vec<SubagentCall>),
    /// Subagents ended.
    Completed(Vec<SubagentEnd>),
    /// The state of any subagent changed; the value is the state of all of them.
    State(SwarmState),
}

/// A call that requests a subagent.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentCall {
    /// The call.
    pub id: ToolCallId,
    /// Its arguments, with a generated id for the subagent if the model gave none.
    pub args: Value,
}

/// The end of a subagent.
#[derive(Debug, Clone, PartialEq)]
pub struct SubagentEnd {
    /// The arguments of the call that requested it.
    pub args: Value,
    /// Its answer, or why it failed.
    pub result: String,
    /// Whether it succeeded.
    pub success: bool,
    /// Whether it ran in the background: no call waited for it, and its answer is sent to the
    /// session as a message.
    pub background: bool,
    /// Its final state.
    pub state: SubagentState,
    /// The subagents that it requested itself, and their descendants.
    pub descendants: Vec<SubagentState>,
}

impl SwarmState {
    /// Returns the tokens and the cost of all subagents.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.agents.iter().for_each(|agent| sum += agent.activity.usage);
        sum
    }
}

/// All subagents of a session at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SwarmState {
    /// The time of this snapshot, in milliseconds since the epoch.
    pub at: i64,
    /// The model of the session.
    pub model: String,
    /// The subagents, in the order they were requested.
    pub agents: Vec<SubagentState>,
    /// The contexts of the subagents.
    pub contexts: SwarmContexts,
}

/// The contexts of a session's subagents.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SwarmContexts {
    /// Tokens in the contexts of the running subagents.
    pub tokens: u64,
    /// How full the fullest of those contexts is, from 0 to 100.
    pub max_percent: f64,
    /// How often results were removed from a context to make room.
    pub prunes: u64,
    /// How often a context was summarised.
    pub compactions: u64,
}

/// The current state of a subagent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubagentState {
    /// Its id, unique in its session.
    pub id: String,
    /// Where it is in the tree, and the session it runs in.
    pub place: SubagentPlace,
    /// What was requested.
    pub request: SubagentRequest,
    /// How far it has come.
    pub progress: SubagentProgress,
    /// What it did.
    pub activity: SubagentActivity,
    /// When it began, ended and was last active.
    pub times: SubagentTimes,
    /// Its answer once it is done; the beginning of it if it is longer than
    /// [`SUBAGENT_RESULT_CHARS`](crate::SUBAGENT_RESULT_CHARS).
    pub result: Option<String>,
    /// Where its whole answer is stored, if it is too long to be sent.
    pub output: Option<KeptOutput>,
}

/// Where a subagent is in the tree of a session's subagents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubagentPlace {
    /// The subagent that requested it; `None` if the session did.
    pub parent: Option<String>,
    /// Its depth below the session; 1 for those that the session requested.
    pub depth: u32,
    /// The session it runs in, once it has begun.
    pub session: Option<SessionId>,
    /// Its git branch and worktree, if it runs isolated.
    pub worktree: Option<SubagentWorktree>,
}

/// The git worktree that a subagent works in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentWorktree {
    /// The directory.
    pub folder: system::AbsPath,
    /// The branch checked out there.
    pub branch: String,
    /// The commit that it began with.
    pub base: String,
}

/// What was requested of a subagent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubagentRequest {
    /// Its kind: `explore`, `plan`, ….
    pub kind: String,
    /// Its task.
    pub task: String,
    /// `await` or `background`.
    pub mode: String,
    /// Its group. Subagents of one group run one after the other.
    pub group: Option<String>,
    /// The subagents that must finish before it starts.
    pub depends_on: Vec<String>,
    /// Whether it works in a git worktree of its own.
    pub isolated: bool,
}

/// How far a subagent has come.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubagentProgress {
    /// Its status.
    pub status: SubagentStatus,
    /// Why it waits.
    pub queue_reason: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// How often it was retried.
    pub retries: u32,
    /// When the next retry starts, in milliseconds since the epoch.
    pub next_retry_at: Option<i64>,
    /// Whether the agent that requested it has received its result.
    pub delivered: bool,
}

/// What a subagent did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubagentActivity {
    /// The number of tool calls it made.
    pub tool_calls: u64,
    /// The last tool it called.
    pub last_tool: Option<String>,
    /// The beginning of its last message.
    pub last_message: Option<String>,
    /// Tokens it used and their cost, without those of its own subagents.
    pub usage: Usage,
}

/// When a subagent began, ended and was last active, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubagentTimes {
    /// When it began.
    pub started_at: Option<i64>,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// When it was last active.
    pub active_at: Option<i64>,
}

/// An answer that is stored elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptOutput {
    /// The key that it is stored under.
    pub reference: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its beginning.
    pub preview: String,
}

/// The status of a subagent. The order puts those that need attention first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum SubagentStatus {
    /// It failed and will be retried.
    Retrying,
    /// It is running.
    Running,
    /// It failed and will not be retried.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// The process ended while it ran or waited; it can be resumed.
    Interrupted,
    /// It waits for the subagents that it depends on.
    Waiting,
    /// It waits for a free slot; the limit is for all subagents of this process.
    QueuedGlobal,
    /// It waits for its group.
    #[default]
    Queued,
    /// It succeeded.
    Done,
}

impl SubagentStatus {
    /// All statuses.
    pub const ALL: [Self; 9] = [
        Self::Retrying,
        Self::Running,
        Self::Failed,
        Self::Cancelled,
        Self::Interrupted,
        Self::Waiting,
        Self::QueuedGlobal,
        Self::Queued,
        Self::Done,
    ];

    /// Returns the status as an id for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::Retrying => "retrying",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Waiting => "waiting",
            Self::QueuedGlobal => "queued_global",
            Self::Queued => "queued",
            Self::Done => "done",
        }
    }

    /// Whether nothing more happens unless it is resumed.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled | Self::Interrupted)
    }
}
