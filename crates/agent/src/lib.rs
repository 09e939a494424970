//! The domain: sessions, turns, the gate, history, events and tools. No wire, no OS, no HTTP.
//!
//! Architecture Invariant: this crate names no protocol and no vendor, and touches the world through [`system::System`],
//! [`LanguageModel`], [`Client`] and [`SessionStore`] alone. Read `turn.rs` first: a turn is one straight function.

mod access;
mod attachments;
mod bounded;
mod briefing;
mod calls;
mod checkpoint;
mod client;
mod commands;
mod content;
mod context;
mod conversation;
mod effort;
mod event;
mod event_pages;
mod explain;
pub mod fake;
mod found;
mod freshness;
mod gate;
mod halves;
mod history;
mod hooks;
mod ids;
mod inner;
mod item;
mod json_bytes;
mod limits;
mod live;
mod log;
mod memory;
mod mentions;
mod mode;
mod model;
mod outputs;
mod outside;
mod plain;
mod policy;
mod prefix;
mod price;
mod prompt;
mod recent;
mod redact;
mod repair;
mod runtime;
mod sampling;
mod sanitise;
mod search;
mod server;
mod session;
mod session_locks;
mod session_task;
mod settings;
mod shells;
mod shown;
mod source;
mod steering;
mod store;
mod swarm;
mod task;
mod timed_store;
mod titles;
mod tool;
mod tool_specs;
pub mod tools;
mod trust;
mod turn;
mod watchers;

pub use access::Access;
pub use checkpoint::{
    Checkpoint, ContentHash, FileChange, RewindError, RewindReport, RewindTarget, Rewound, Snapshot,
};
pub use client::{Choice, Client, PermissionOutcome, PermissionRequest, Question, QuestionOutcome};
pub use commands::{SlashCommand, commands};
pub use content::{Content, Diff, Location, ToolContent};
pub use context::{Compaction, CompactionStep};
pub use effort::Effort;
pub use event::{
    LiveOutput, MalformedArguments, ModelResponse, Phase, PlanEntry, PlanPriority, PlanStatus,
    ResultsLeftOut, SessionEvent, Severity, StopReason, ToolCallUpdate, ToolKind, ToolResult, ToolStatus,
    TurnEnd, UsageUpdate,
};
pub use event_pages::EventPages;
pub use explain::{Step, decision_time, explain, explained_as_path};
pub use found::found_rules;
pub use freshness::{FileTracker, Fingerprint, Freshness, Seen, Stamp, Standing};
pub use halves::without_halves;
pub use history::History;
pub use hooks::{Brought, Hook, HookEvent, Hooks};
pub use ids::{CompactionId, MessageId, SessionId, ToolCallId, TurnId};
pub use inner::{Callee, InnerCalls, InnerError};
pub use item::{AnsweredCall, Item, ModelCall, Reasoning, Text, ToolCallRequest, Written, read_arguments};
pub use json_bytes::json_bytes;
pub use limits::{ANSWER_BYTES, ContextLimits, Limits, ToolLimits};
pub use mode::{Mode, PermissionMode, UnknownMode};
pub use model::{
    AssistantMessage, Credentials, LanguageModel, Message, ModelError, ModelEvent, ModelInfo, ModelRequest,
    ModelStop, Models, ToolProfile, ToolSpec, Usage,
};
pub use outputs::Outputs;
pub use outside::{Outside, Refusal};
pub use policy::{
    Answer, PermissionRule, PermissionRules, SandboxOptions, ServerRule, ServerRules, check_tool_name,
    check_tool_pattern,
};
pub use prefix::{Briefing, Prefix};
pub use price::{Cost, LongPrompt, Price, Rates};
pub use prompt::ShownProject;
pub use redact::Redactor;
pub use runtime::{CallsAsText, CreateSession, OpenSession, Runtime, RuntimeOptions, Surface};
pub use sampling::{SAMPLING, SampleRequest, Sampled};
pub use sanitise::{Sanitiser, escaped, escaped_json, label, one_line, sanitise};
pub use search::{SearchHit, SearchQuery, excerpt, searched_text, words};
pub use server::{ClientServer, ClientServerKind};
pub use session::{Prompt, PromptOutcome, SessionError, SessionHandle, SessionState, TurnError};
pub use settings::{FollowedSettings, Settings, SettingsNews};
pub use shells::Shells;
pub use source::{
    Mention, Offer, Refused, SessionScope, SourceNotice, ToolProvider, ToolProviders, ToolSource,
};
pub use store::{
    Archived, Holding, Lease, ListQuery, NewSession, SessionPage, SessionRecord, SessionStore, StoreError,
};
pub use swarm::{
    KeptOutput, SubagentCall, SubagentEnd, SubagentState, SubagentStatus, SwarmEvent, SwarmState,
};
pub use task::{Task, TaskList, TaskStatus};
pub use titles::{command_block, command_title, path_title};
pub use tool::{AnyCall, AnyTool, Description, Effect, Tool, ToolContext, ToolError, ToolOutput, Typed};
pub use tool_specs::ToolSpecs;
pub use trust::{FolderTrust, ItemKind, Judged, TrustItem, TrustRecord, TrustRecords, TrustState};
