//! The events as they go over the wire.

use super::Prefix;
#[cfg(test)]
use super::schema::{IntegrationOperation, McpOperation};
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

/// The version of this layer.
pub(crate) const VERSION: u32 = 1;

/// An event on its way out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    /// The turn it belongs to.
    pub(crate) run: Option<TurnId>,
    /// The event; `None` only says to which turn the text belongs that follows.
    pub(crate) event: Option<Event>,
}

/// The parameters of a notification: what every event has, and its own fields.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope<'a> {
    /// The version of this layer, 1.
    pub(crate) protocol_version: u32,
    /// The session.
    pub(crate) session_id: &'a str,
    /// The turn, `run_1` and on, each prompt of a session its own; null outside of turns.
    pub(crate) run_id: Option<&'a str>,
    /// When it was sent: seconds since the epoch, with fractions.
    pub(crate) timestamp: f64,
    #[serde(flatten)]
    pub(crate) event: &'a Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum Event {
    /// A turn began or ended, or the user said something.
    SessionUpdate(RunUpdate),
    /// What the turn is busy with changed.
    PhaseChanged { phase: PhaseName },
    /// The assistant said more; one for each `agent_message_chunk`, right after it.
    TextDelta(Delta),
    /// The model reasoned on; one for each `agent_thought_chunk` of its reasoning, right after it.
    ThinkingDelta(Delta),
    /// A tool call was announced.
    ToolStarted(ToolStarted),
    /// A tool call runs.
    ToolProgress {
        tool_call_id: String,
        tool: String,
        name: String,
        status: InProgress,
        /// What it says of itself, where that is new: how far it is, the end of its log.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A tool call ended.
    ToolCompleted(ToolCompleted),
    /// A permission is about to be asked for.
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
    /// A permission that was asked for was given or refused.
    PermissionResolved { tool_call_id: String, tool: String, decision: Verdict, outcome: Value },
    /// Subagents were asked for.
    SubagentSpawned { entries: Vec<SpawnEntry> },
    /// Subagents run, or wait for a place.
    SubagentRunning { entries: Vec<SpawnEntry> },
    /// Subagents ended.
    SubagentCompleted { entries: Vec<EndEntry> },
    /// All subagents as a tree; at most four a second.
    SubagentTree { tree: Vec<Node> },
    /// All subagents in numbers; at most one a second.
    SubagentDashboard { summary: Box<Summary>, stats: BTreeMap<String, Stats>, tree: Vec<Node> },
    /// Tokens used, of the session so far.
    UsageUpdated {
        model: String,
        tokens_in: u64,
        tokens_out: u64,
        /// In US dollars; null where the price is not known.
        cost: Option<f64>,
        /// The size of the model's context, in tokens; left out where it is not known.
        #[serde(skip_serializing_if = "Option::is_none")]
        max_context: Option<u64>,
    },
    /// What the session is set to changed.
    RuntimeChanged(RuntimeChange),
    /// A request about integrations, or Lua, began or ended.
    #[serde(rename = "integration_event")]
    Integration(#[cfg_attr(test, schemars(with = "IntegrationOperation"))] Operation),
    /// A request about MCP servers began or ended.
    #[serde(rename = "mcp_event")]
    Mcp(#[cfg_attr(test, schemars(with = "McpOperation"))] Operation),
    /// Something that the user should know and that is no part of the conversation.
    StatusUpdated { message: String },
    /// A turn failed.
    Error { message: String },
}

/// The course of a turn: `status`, or `role` and `text`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct RunUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<RunStatus>,
    /// Whose message `text` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Role>,
    /// The user's message; or, at the end, all that the assistant said in the turn.
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

/// A piece of text, twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Delta {
    pub(crate) text: String,
    /// The same.
    pub(crate) delta: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolStarted {
    pub(crate) tool_call_id: String,
    pub(crate) tool: String,
    /// The same.
    pub(crate) name: String,
    pub(crate) args: Value,
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) locations: Vec<Place>,
}

/// Where a tool call works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Place {
    pub(crate) path: String,
    /// From 1.
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
    /// The same.
    pub(crate) name: String,
    /// What the model was told.
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

/// What came of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Allow,
    Always,
    Deny,
}

/// What changed, as far as it is known: only the fields that are there.
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
    /// The size of its context in tokens; 0 where it is not known.
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

/// Everything a session can be set to, and is.
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

/// A request as it begins and ends: only the fields that `operation` has.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Operation {
    pub(crate) operation: &'static str,
    #[serde(flatten)]
    pub(crate) fields: BTreeMap<&'static str, Value>,
}

/// A call that asks for a subagent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct SpawnEntry {
    pub(crate) args: Value,
    /// Of the tool call.
    pub(crate) id: String,
}

/// A subagent that ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct EndEntry {
    /// `completion` for one that nobody waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'static str>,
    pub(crate) args: Value,
    pub(crate) result: String,
    pub(crate) success: bool,
    /// Those it asked for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) children: Option<Vec<Node>>,
    pub(crate) stats: Stats,
}

/// A subagent in the tree; or, with the type `summary`, those for which there was no room.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) task: String,
    pub(crate) status: String,
    /// Seconds, to a tenth.
    pub(crate) elapsed: f64,
    pub(crate) tool_calls: u64,
    pub(crate) success: bool,
    pub(crate) error: Option<String>,
    pub(crate) queue_reason: Option<String>,
    pub(crate) last_tool: Option<String>,
    pub(crate) last_message_preview: Option<String>,
    /// Seconds since the epoch.
    pub(crate) next_retry_at: Option<f64>,
    pub(crate) children: Vec<Self>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hidden_count: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hidden_statuses: Option<BTreeMap<String, usize>>,
}

/// A subagent in numbers. Times are seconds since the epoch.
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
    /// Seconds, to a thousandth.
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

/// All subagents in numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    pub(crate) total: usize,
    pub(crate) done: usize,
    pub(crate) running: usize,
    /// Those that wait for whatever reason.
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
    /// In US dollars; null where the prices are not known.
    pub(crate) cost: Option<f64>,
    /// Of one that is done.
    pub(crate) avg_cost: Option<f64>,
    /// Seconds since the first began.
    pub(crate) elapsed: f64,
    /// Done in a minute.
    pub(crate) rate: f64,
    /// Seconds until all have ended, if it goes on like this; null where nothing tells.
    pub(crate) eta: Option<f64>,
    pub(crate) active: Vec<Stats>,
    pub(crate) failures: Vec<Stats>,
    pub(crate) by_type: BTreeMap<String, OfType>,
    pub(crate) model: String,
    /// Whether nothing has moved for a minute although something runs.
    pub(crate) stale: bool,
}

/// The subagents of one kind.
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
    /// Its name, without the prefix.
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
