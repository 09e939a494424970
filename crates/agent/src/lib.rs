//! The domain of the agent: sessions, turns, the permission gate, history, events and tools.
//!
//! This crate runs a session's turns: it sends requests to a model, decides about every tool call
//! by the policy and the user, runs the calls, records events in a store and notifies clients.
//!
//! Architecture Invariant: this crate must never contain a wire format, an operating system call or
//! HTTP, or name a protocol or a vendor. It reaches the outside world only through
//! [`system::System`], [`LanguageModel`], [`Client`] and [`SessionStore`]. A call must never run
//! without passing the gate.
//!
//! Read `turn/mod.rs` first.

mod admission;
mod checkpoint;
mod client;
mod event;
pub mod fake;
mod files;
mod gate;
mod goal;
mod history;
mod hooks;
mod input;
mod limits;
mod log;
mod memories;
mod model;
mod operator;
mod policy;
pub mod principal;
mod programs;
mod prompt;
mod repair;
mod runtime;
mod session;
mod settings;
mod shells;
mod skills;
mod sources;
pub mod spans;
mod store;
mod swarm;
mod task;
mod text;
mod tool;
pub mod tools;
mod trust;
mod turn;

pub use admission::{NotAdmitted, OperatorLimit};
pub use checkpoint::Checkpoint;
pub use client::pages::EventPages;
pub use client::{Client, PermissionRequest, Surface};
pub use event::compaction::{Compaction, CompactionStep};
pub use event::content::{Content, Diff, Location, ToolContent};
pub use event::effort::Effort;
pub use event::file_change::{ContentHash, FileChange, RewindTarget, Rewound, Snapshot};
pub use event::goal::{Goal, GoalStatus, apply_to_goal};
pub use event::ids::{CompactionId, MessageId, NotAPromptId, PromptId, SessionId, ToolCallId, TurnId};
pub use event::item::{
    AnsweredCall, Item, MalformedArguments, ModelCall, Reasoning, Text, ToolCallRequest, ToolResult, Written,
    read_arguments,
};
pub use event::mode::{Mode, PermissionMode, UnknownMode};
pub use event::network::{Destination, HostUse, NetworkUse, byte_size};
pub use event::permission::{CallPlace, PermissionOutcome};
pub use event::plan::{PlanEntry, PlanPriority, PlanStatus};
pub use event::prefix::{Briefing, Prefix};
pub use event::shell::{ShellEnding, ShellUpdate};
pub use event::slash_command::{CommandGroup, SlashCommand};
pub use event::specs::{ToolSpec, ToolSpecs};
pub use event::swarm::{
    KeptOutput, SubagentActivity, SubagentCall, SubagentEnd, SubagentPlace, SubagentProgress,
    SubagentRequest, SubagentState, SubagentStatus, SubagentTimes, SubagentWorktree, SwarmContexts,
    SwarmEvent, SwarmState,
};
pub use event::task::{Task, TaskStatus, plan_of, task_tree};
pub use event::tool_call::{CommandPlace, LiveOutput, ToolCallDisplay, ToolCallUpdate, ToolKind, ToolStatus};
pub use event::usage::{Cost, LongPrompt, Price, Rates, Usage};
pub use event::{
    AnswerPart, ModelResponse, Phase, ResultsLeftOut, SessionEvent, Severity, StopReason, TurnEnd,
    UsageUpdate,
};
pub use files::identity::{FolderFacts, FolderIdentity};
pub use files::outputs::Outputs;
pub use files::readable::ReadableDirectories;
pub use files::repository::repository;
pub use files::{
    fingerprint::Fingerprint,
    freshness::{FileTracker, Freshness, Seen, Stamp},
};
pub use gate::direct_caller::{DirectCaller, Refusal};
pub use gate::explain::{ExplainedAs, Step, explain, explained_as};
pub use goal::{GoalChange, GoalError};
pub use history::History;
pub use history::glance::Glance;
pub use hooks::{Hook, HookEvent, HookOrigin, Hooks};
pub use input::commands::{commands, own_command, unknown_command};
pub use limits::{
    ANSWER_BYTES, ContextLimits, Limits, MEMORIES_LISTED, MEMORIES_RECALLED_BYTES, SUBAGENT_RESULT_CHARS,
    SubagentLimits, ToolLimits,
};
pub use log::state::SessionState;
pub use memories::{
    MemoryAuthor, MemoryDraft, MemoryError, MemoryOptions, ProjectMemories, Recall, RecalledMemories,
};
pub use model::{
    AssistantMessage, Credentials, IMAGE_BYTES, ImageFault, LanguageModel, Message, ModelAbilities,
    ModelDialect, ModelError, ModelEvent, ModelInfo, ModelLimits, ModelRequest, ModelStop, Models,
    ToolProfile, readable_image, sendable_image,
};
pub use operator::{Operator, Place, TakenOver};
pub use policy::found::found_rules;
pub use policy::{
    AddressKind, Answer, CommandFiles, CommandNetwork, ConnectionJudge, Expectation, NetworkOptions,
    NetworkRule, NetworkRules, PermissionRule, PermissionRules, Push, RefChange, Remedy, RemoteRepository,
    SERVICE_PORTS, SandboxOptions, Secrets, ServerRule, ServerRules, SignCommits, Signing, Traffic,
    address_kind, check_tool_name, check_tool_pattern, refused_address, tool_names,
};
pub use principal::{Owner, Principal, Scope, Scopes, UnknownScope};
pub use programs::{Attached, ProjectPrograms};
pub use prompt::{ShownProject, UserInstructions, announced_mode};
pub use runtime::handle::{Prompt, SessionError, SessionHandle};
pub use runtime::{CreateSession, OpenSession, Runtime};
pub use session::outcome::{CommandOutcome, PromptOutcome, RewindError, RewindReport, TurnError};
pub use settings::options::{CallsAsText, PermissionOptions, PromptOptions, RuntimeOptions, SessionStart};
pub use settings::{FollowedSettings, Settings, SettingsNotice, UserRules};
pub use shells::{Shells, states_ending};
pub use skills::{
    CommandFile, Found, FoundState, Manifest, Origin, Skill, SkillFinder, SkillProvider, SkillSet, StartedBy,
    UserPlaces, check_skill, find_skills, project_skills,
};
pub use sources::server::{ClientServer, ClientServerKind};
pub use sources::{
    Mention, Offer, Refused, SessionScope, SkillSummary, SourceNotice, ToolProvider, ToolProviders,
    ToolSource,
};
pub use store::life::LeaseLife;
pub use store::memories::{
    Expiry, Memories, Memory, MemoryChange, MemoryClass, MemoryId, MemoryKind, MemoryNote, MemoryQuery,
    MemoryScope, MemoryTimes, NewMemory, NotAMemoryId, PINNED_WEIGHT, Stored, memory_keys,
};
pub use store::scoped::scoped;
pub use store::search::{SearchHit, SearchQuery, excerpt, searched_text, words};
pub use store::{
    Archived, KnownFolder, Lease, LeaseHolder, ListQuery, NewSession, SessionControls, SessionListing,
    SessionPage, SessionRecord, SessionStore, SessionTimes, SessionTotals, StoreError,
};
pub use text::colours::{Colours, Ink, Run};
pub use text::cut::{ceil_char_boundary, floor_char_boundary};
pub use text::file_uri::file_uri_path;
pub use text::json_bytes::json_bytes;
pub use text::panic::panic_text;
pub use text::redact::Redactor;
pub use text::sanitise::{Sanitiser, escaped, escaped_json, label, one_line, sanitise};
pub use text::similar::closest;
pub use text::surrogates::without_halves;
pub use text::yaml::parse_yaml;
pub use tool::access::{Access, Lifetime};
pub use tool::nested::{Callee, NestedCallError, NestedCalls};
pub use tool::question::{AskUser, Choice, Question, QuestionOutcome};
pub use tool::sampling::{SAMPLING, SampleRequest, Sampled};
pub use tool::subagents::SubagentAccess;
pub use tool::titles::{command_block, command_title, path_title};
pub use tool::{
    AnyCall, AnyTool, Description, Effect, SessionResources, Tool, ToolCallContext, ToolContext, ToolError,
    ToolOutput, Typed,
};
pub use trust::{CheckedItem, FolderTrust, ItemKind, TrustItem, TrustRecord, TrustRecords, TrustState};
