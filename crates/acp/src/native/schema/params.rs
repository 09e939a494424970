//! Schemas of requests' parameters.

#![expect(dead_code, reason = "these are for their schemas; parameters are taken apart by `Fields`")]

use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// No parameters.
#[derive(JsonSchema)]
pub(super) struct Nothing {}

/// A session. For reports, it may be only stored.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Named {
    session_id: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct NamedSubagent {
    session_id: String,
    id: String,
}

/// Without an id, all subagents.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct CancelSubagent {
    session_id: String,
    id: Option<String>,
}

/// Whose settings change; defaults to the project's.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Scope {
    Project,
    Global,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Answer {
    Allow,
    Ask,
    Deny,
}

/// Permissions for reads and writes.
#[derive(JsonSchema)]
struct Permissions {
    read: Option<Answer>,
    write: Option<Answer>,
}

/// A string, a number or a boolean.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Scalar {
    Text(String),
    Number(f64),
    Flag(bool),
}

/// One scalar, or a list of them.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Scalars {
    One(Scalar),
    Many(Vec<Scalar>),
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SetRuntime {
    session_id: String,
    mode: Option<String>,
    provider: Option<String>,
    /// With or without its provider.
    model: Option<String>,
    permission_mode: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SetSetting {
    session_id: String,
    /// For example `kosmokrator.tools.default_permission_mode`.
    path: String,
    value: Scalars,
    scope: Option<Scope>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ConfigureProvider {
    session_id: String,
    provider: String,
    model: Option<String>,
    /// Stored with the secrets.
    api_key: Option<String>,
    base_url: Option<String>,
    scope: Option<Scope>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ListFunctions {
    session_id: String,
    query: Option<String>,
    /// Defaults to 100; at most 500.
    limit: Option<u64>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct NamedFunction {
    session_id: String,
    /// Also accepted as `name` or `tool`.
    function: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct CallFunction {
    session_id: String,
    /// `PROVIDER.FUNCTION`; also accepted as `name` or `tool`.
    function: String,
    args: Option<Map<String, Value>>,
    account: Option<String>,
    /// Make the call even if it needs approval.
    force: Option<bool>,
    /// Check everything without making the call.
    dry_run: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ConfigureIntegration {
    session_id: String,
    integration: String,
    /// Defaults to `default`.
    account: Option<String>,
    credentials: Option<BTreeMap<String, Scalar>>,
    enabled: Option<bool>,
    permissions: Option<Permissions>,
    scope: Option<Scope>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Forced {
    session_id: String,
    force: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ListTools {
    session_id: String,
    server: Option<String>,
    /// Include servers of an untrusted project.
    force: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ForcedFunction {
    session_id: String,
    /// `SERVER.TOOL`; also accepted as `name` or `tool`.
    function: String,
    force: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct CallTool {
    session_id: String,
    /// `SERVER.TOOL`; also accepted as `name` or `tool`.
    function: String,
    args: Option<Map<String, Value>>,
    /// Make the call even if it needs approval or its server is not trusted.
    force: Option<bool>,
    /// Check everything without making the call.
    dry_run: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct AddServer {
    session_id: String,
    name: String,
    command: String,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, Scalar>>,
    /// Defaults to true.
    enabled: Option<bool>,
    trust: Option<bool>,
    permissions: Option<Permissions>,
    scope: Option<Scope>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct GiveTrust {
    session_id: String,
    /// At least one. If any item has changed since it was listed, none is trusted.
    items: Vec<ShownItem>,
}

#[derive(JsonSchema)]
struct ShownItem {
    id: String,
    /// The hash that `trust/list` returned with the content.
    hash: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct TakeTrust {
    session_id: String,
    /// Defaults to all items.
    ids: Option<Vec<String>>,
}

/// What a memory is about.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum MemoryKind {
    Project,
    User,
    Decision,
}

/// How long a memory is meant to be useful.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum MemoryClass {
    Durable,
    Working,
    Priority,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ListMemories {
    session_id: String,
    /// Words that must all occur in the title or the content.
    query: Option<String>,
    #[schemars(rename = "type")]
    kind: Option<MemoryKind>,
    memory_class: Option<MemoryClass>,
    /// Defaults to 2,000, which is also the limit.
    limit: Option<u64>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SaveMemory {
    session_id: String,
    /// The memory to change; a new one without it.
    id: Option<u64>,
    /// Required for a new one.
    #[schemars(rename = "type")]
    kind: Option<MemoryKind>,
    memory_class: Option<MemoryClass>,
    /// Required for a new one; at most 120 characters.
    title: Option<String>,
    /// Required for a new one; at most 8 KiB.
    content: Option<String>,
    pinned: Option<bool>,
    /// 0 means never; at most 3,650.
    expires_days: Option<u64>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ForgetMemory {
    session_id: String,
    id: u64,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SetSecret {
    session_id: String,
    server: String,
    /// For example `env.GITHUB_TOKEN`.
    key: String,
    value: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Runtime {
    Integrations,
    Integration,
    All,
    Mcp,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct LuaOptions {
    /// CPU time in seconds.
    cpu_limit: Option<f64>,
    /// Bytes of memory.
    memory_limit: Option<u64>,
}

/// Either `code` or `path`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ExecuteLua {
    session_id: String,
    runtime: Option<Runtime>,
    code: Option<String>,
    /// A file, relative to the session's directory.
    path: Option<String>,
    options: Option<LuaOptions>,
    /// Make calls even if they need approval.
    force: Option<bool>,
}

#[derive(JsonSchema)]
pub(super) struct Search {
    query: String,
    /// Only sessions of this directory.
    cwd: Option<String>,
    /// Defaults to 20; at most 1,000.
    limit: Option<u64>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Format {
    Json,
    Markdown,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Export {
    session_id: String,
    format: Option<Format>,
}

/// Either `to` or `redo`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Rewind {
    session_id: String,
    /// The number of a turn; 0 is before the first turn.
    to: Option<u64>,
    redo: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct NamedShell {
    session_id: String,
    /// For example `sh_1`; `shells/stop` also takes `all`.
    id: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum GoalStatus {
    Active,
    Paused,
    Cleared,
}

/// Either `objective` or `status`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SetGoal {
    session_id: String,
    /// A new goal, in place of any other.
    objective: Option<String>,
    /// `active` resumes the goal.
    status: Option<GoalStatus>,
    /// The tokens that the goal may use; with `objective` or `status: active`.
    token_budget: Option<u64>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Explain {
    session_id: String,
    /// A command or a path.
    what: String,
    /// Whether the path would be written.
    write: Option<bool>,
}
