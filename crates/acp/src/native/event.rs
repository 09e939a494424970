//! The native events in their wire format.

#[cfg(test)]
use super::schema::{IntegrationOperation, McpOperation};
use super::{
    Prefix,
    entries::{GoalState, NetworkEntry, ShellEntry, TaskEntry},
};
use agent::{SessionId, TurnId};
use agent_client_protocol::{Client, ConnectionTo, Error, UntypedMessage};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

/// The version of the native layer.
pub(crate) const VERSION: u32 = 1;

/// The parameters of a notification: the fields common to all events, and the event's own.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope<'a> {
    /// The version of the native layer, 1.
    pub(crate) protocol_version: u32,
    /// The id of the session.
    pub(crate) session_id: &'a str,
    /// The turn, `run_1` and so on, one per prompt of a session; null outside turns.
    pub(crate) run_id: Option<&'a str>,
    /// When the event was sent: seconds since the Unix epoch, with fractions.
    pub(crate) timestamp: f64,
    #[serde(flatten)]
    pub(crate) event: &'a Event,
}

/// A native event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Event {
    /// A turn began or ended, or the user sent a message.
    SessionUpdate(RunUpdate),
    /// The phase of the turn changed.
    PhaseChanged { phase: PhaseName },
    /// More text of the assistant; one for each `agent_message_chunk`, immediately after it.
    TextDelta(Delta),
    /// More reasoning of the model; one for each `agent_thought_chunk` with its reasoning,
    /// immediately after it.
    ThinkingDelta(Delta),
    /// A tool call was announced.
    ToolStarted(ToolStarted),
    /// A tool call is running.
    ToolProgress {
        tool_call_id: String,
        tool: String,
        name: String,
        status: InProgress,
        /// The call's progress or the end of its log, if either is new.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A tool call ended.
    ToolCompleted(ToolCompleted),
    /// A permission request is about to be sent.
    PermissionRequested {
        tool_call_id: String,
        tool: String,
        name: String,
        args: Value,
        /// As in `session/request_permission`.
        tool_call: Value,
        /// As in `session/request_permission`.
        options: Value,
    },
    /// A permission request was answered.
    PermissionResolved { tool_call_id: String, tool: String, decision: Verdict, outcome: Value },
    /// Subagents were requested.
    SubagentSpawned { entries: Vec<SpawnEntry> },
    /// Subagents are running or queued.
    SubagentRunning { entries: Vec<SpawnEntry> },
    /// Subagents ended.
    SubagentCompleted { entries: Vec<EndEntry> },
    /// All subagents as a tree; at most four per second.
    SubagentTree { tree: Vec<Node> },
    /// Statistics of all subagents; at most one per second.
    SubagentDashboard { summary: Box<Summary>, stats: BTreeMap<String, Stats>, tree: Vec<Node> },
    /// Tokens used by the session so far.
    UsageUpdated {
        model: String,
        tokens_in: u64,
        tokens_out: u64,
        /// In US dollars; null if the price is unknown.
        cost: Option<f64>,
        /// The model's context size in tokens; omitted if unknown.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_context: Option<u64>,
    },
    /// The session's settings changed.
    RuntimeChanged(RuntimeChange),
    /// A request about integrations or Lua began or ended.
    #[serde(rename = "integration_event")]
    Integration(#[cfg_attr(test, schemars(with = "IntegrationOperation"))] Operation),
    /// A request about MCP servers began or ended.
    #[serde(rename = "mcp_event")]
    Mcp(#[cfg_attr(test, schemars(with = "McpOperation"))] Operation),
    /// The tasks changed; these are all of them.
    TasksUpdated { tasks: Vec<TaskEntry> },
    /// The goal was set, changed or removed (null).
    GoalUpdated { goal: Option<GoalState> },
    /// A background command started or ended.
    ShellUpdated { shell: ShellEntry },
    /// Commands used the network, or were refused it; sent before the end of the call.
    NetworkUsed(NetworkEntry),
    /// A message for the user that is not part of the conversation.
    StatusUpdated { message: String },
    /// A turn failed.
    Error { message: String },
}

/// Progress of a turn: `status`, or `role` and `text`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct RunUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<RunStatus>,
    /// The author of `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Role>,
    /// The user's message; or, at the end of a turn, the assistant's whole text in that turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunStatus {
    Started,
    Completed,
    Cancelled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum PhaseName {
    Thinking,
    Tools,
    Idle,
}

/// A piece of text, in two fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Delta {
    pub(crate) text: String,
    /// The same as `text`.
    pub(crate) delta: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolStarted {
    pub(crate) tool_call_id: String,
    pub(crate) tool: String,
    /// The same as `tool`.
    pub(crate) name: String,
    pub(crate) args: Value,
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) locations: Vec<Place>,
}

/// A location of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Place {
    pub(crate) path: String,
    /// Counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum InProgress {
    InProgress,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolCompleted {
    pub(crate) tool_call_id: String,
    pub(crate) tool: String,
    /// The same as `tool`.
    pub(crate) name: String,
    /// The result given to the model.
    pub(crate) output: String,
    pub(crate) success: bool,
    pub(crate) status: EndStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndStatus {
    Completed,
    Failed,
}

/// The outcome of a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Allow,
    Always,
    Deny,
}

/// The changed settings: only the fields that changed.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuntimeChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<String>,
    /// Without its provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The model's context size in tokens; 0 if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_context: Option<u64>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<RuntimeState>,
    /// `setting_set` or `provider_configured`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
}

/// All settings of a session, with their current values.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct RuntimeState {
    /// `currentModeId` and `availableModes`.
    pub(crate) modes: Value,
    /// `currentModelId` and `availableModels`.
    pub(crate) models: Value,
    /// With the keys of the protocol and those of the KosmoKrator wire.
    pub(crate) config_options: Value,
}

/// The start or end of a request: only the fields that `operation` has.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Operation {
    pub(crate) operation: &'static str,
    #[serde(flatten)]
    pub(crate) fields: BTreeMap<&'static str, Value>,
}

/// A call that requests a subagent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct SpawnEntry {
    pub(crate) args: Value,
    /// The id of the tool call.
    pub(crate) id: String,
}

/// A subagent that ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct EndEntry {
    /// `completion` if no call waited for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'static str>,
    pub(crate) args: Value,
    pub(crate) result: String,
    pub(crate) success: bool,
    /// The subagents that it requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) children: Option<Vec<Node>>,
    pub(crate) stats: Stats,
}

/// A subagent in the tree; or, with the type `summary`, the subagents omitted for lack of room.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) task: String,
    pub(crate) status: String,
    /// Seconds, rounded to a tenth.
    pub(crate) elapsed: f64,
    pub(crate) tool_calls: u64,
    pub(crate) success: bool,
    pub(crate) error: Option<String>,
    pub(crate) queue_reason: Option<String>,
    pub(crate) last_tool: Option<String>,
    pub(crate) last_message_preview: Option<String>,
    /// Seconds since the Unix epoch.
    pub(crate) next_retry_at: Option<f64>,
    pub(crate) children: Vec<Self>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hidden_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hidden_statuses: Option<BTreeMap<String, usize>>,
}

/// Statistics of a subagent. Times are seconds since the Unix epoch.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stats {
    pub(crate) id: String,
    pub(crate) status: String,
    pub(crate) mode: String,
    pub(crate) tool_calls: u64,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
    /// Seconds, rounded to a thousandth.
    pub(crate) elapsed: f64,
    pub(crate) start_time: Option<f64>,
    pub(crate) end_time: Option<f64>,
    pub(crate) last_activity_time: Option<f64>,
    pub(crate) task: String,
    pub(crate) agent_type: String,
    pub(crate) group: Option<String>,
    pub(crate) depends_on: Vec<String>,
    pub(crate) error: Option<String>,
    pub(crate) parent_id: Option<String>,
    pub(crate) depth: u32,
    pub(crate) retries: u32,
    pub(crate) queue_reason: Option<String>,
    pub(crate) last_tool: Option<String>,
    pub(crate) last_message_preview: Option<String>,
    pub(crate) next_retry_at: Option<f64>,
    pub(crate) output_ref: Option<String>,
    pub(crate) output_bytes: Option<u64>,
    pub(crate) output_preview: Option<String>,
}

/// Statistics of all subagents.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) total: usize,
    pub(crate) done: usize,
    pub(crate) running: usize,
    /// Those that wait, for any reason.
    pub(crate) queued: usize,
    pub(crate) failed: usize,
    pub(crate) cancelled: usize,
    pub(crate) retrying: usize,
    pub(crate) retried_and_recovered: usize,
    pub(crate) total_retries: u64,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
    pub(crate) context_tokens: u64,
    pub(crate) max_context_percent: f64,
    pub(crate) cache_read_tokens: u64,
    pub(crate) cache_write_tokens: u64,
    pub(crate) prune_count: u64,
    pub(crate) compaction_count: u64,
    pub(crate) total_tools: u64,
    /// In US dollars; null if a price is unknown.
    pub(crate) cost: Option<f64>,
    /// The average per finished subagent.
    pub(crate) avg_cost: Option<f64>,
    /// Seconds since the first one started.
    pub(crate) elapsed: f64,
    /// Subagents finished per minute.
    pub(crate) rate: f64,
    /// Estimated seconds until all have ended; null if unknown.
    pub(crate) eta: Option<f64>,
    pub(crate) active: Vec<Stats>,
    pub(crate) failures: Vec<Stats>,
    pub(crate) by_type: BTreeMap<String, OfType>,
    pub(crate) model: String,
    /// Whether a subagent runs and none has made progress for a minute.
    pub(crate) stale: bool,
}

/// The subagents of one type.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct OfType {
    pub(crate) done: usize,
    pub(crate) running: usize,
    pub(crate) queued: usize,
    pub(crate) failed: usize,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_out: u64,
}

impl Event {
    /// Returns the event's name, without the prefix.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::SessionUpdate(_) => "session_update",
            Self::PhaseChanged { .. } => "phase_changed",
            Self::TextDelta(_) => "text_delta",
            Self::ThinkingDelta(_) => "thinking_delta",
            Self::ToolStarted(_) => "tool_started",
            Self::ToolProgress { .. } => "tool_progress",
            Self::ToolCompleted(_) => "tool_completed",
            Self::PermissionRequested { .. } => "permission_requested",
            Self::PermissionResolved { .. } => "permission_resolved",
            Self::SubagentSpawned { .. } => "subagent_spawned",
            Self::SubagentRunning { .. } => "subagent_running",
            Self::SubagentCompleted { .. } => "subagent_completed",
            Self::SubagentTree { .. } => "subagent_tree",
            Self::SubagentDashboard { .. } => "subagent_dashboard",
            Self::UsageUpdated { .. } => "usage_updated",
            Self::RuntimeChanged(_) => "runtime_changed",
            Self::Integration(_) => "integration_event",
            Self::Mcp(_) => "mcp_event",
            Self::TasksUpdated { .. } => "tasks_updated",
            Self::GoalUpdated { .. } => "goal_updated",
            Self::ShellUpdated { .. } => "shell_updated",
            Self::NetworkUsed(_) => "network_used",
            Self::StatusUpdated { .. } => "status_updated",
            Self::Error { .. } => "error",
        }
    }
}

/// Sends an event.
pub(crate) fn send(
    connection: &ConnectionTo<Client>,
    session: &SessionId,
    prefix: Prefix,
    run: Option<&TurnId>,
    event: &Event,
) -> Result<(), Error> {
    let envelope = Envelope {
        protocol_version: VERSION,
        session_id: session.as_str(),
        run_id: run.map(TurnId::as_str),
        timestamp: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64()),
        event,
    };
    let method = format!("{}{}", prefix.text(), event.name());
    connection.send_notification(UntypedMessage::new(&method, envelope)?)
}
