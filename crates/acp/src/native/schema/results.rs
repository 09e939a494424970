//! Schemas of requests' results.

#![expect(dead_code, reason = "these are for their schemas; answers come from behind a seam")]

use crate::native::{
    entries::{GoalState, ShellEntry, TaskEntry},
    event::{Node, Stats, Summary},
};
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The same table under two names, one per wire.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Capabilities {
    kosmo_capabilities: CapabilityTable,
    kosmokrator_capabilities: CapabilityTable,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct CapabilityTable {
    protocol_version: u32,
    #[schemars(flatten)]
    each: BTreeMap<String, bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SettingSet {
    path: String,
    scope: String,
    configured: bool,
}

/// The configuration of a provider, without its key.
#[derive(JsonSchema)]
pub(super) struct ProviderConfigured {
    provider: String,
    scope: String,
    configured: bool,
    #[schemars(rename = "hasApiKey")]
    has_api_key: bool,
    #[schemars(rename = "baseUrlConfigured")]
    base_url_configured: bool,
    model: Option<String>,
    label: String,
    description: String,
    auth_mode: String,
    auth_status: String,
    source: String,
    driver: String,
    url: Option<String>,
    default_model: Option<String>,
    configured_api_key: bool,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct Functions {
    functions: Vec<Function>,
    providers: Map<String, Value>,
    locally_runnable_providers: Vec<String>,
}

/// A function of an integration.
#[derive(JsonSchema)]
pub(crate) struct Function {
    provider: String,
    /// `PROVIDER.FUNCTION`.
    function: String,
    name: String,
    slug: String,
    title: String,
    description: String,
    /// `read` or `write`.
    operation: String,
    active: bool,
    configured: bool,
    accounts: Value,
    auth: Value,
    auth_strategy: Value,
    host_availability: Value,
    runtime_requirements: Value,
    compatibility: Value,
    compatibility_summary: Value,
    cli_setup_supported: bool,
    cli_runtime_supported: bool,
    input_schema: Value,
}

#[derive(JsonSchema)]
pub(crate) struct FunctionCalled {
    function: String,
    success: bool,
    data: Value,
    error: Option<String>,
    meta: FunctionMeta,
    duration_ms: f64,
}

#[derive(JsonSchema)]
struct FunctionMeta {
    dry_run: bool,
    operation: Option<String>,
    permission_bypassed: bool,
    account: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct IntegrationConfigured {
    integration: String,
    account: String,
    scope: String,
    enabled: bool,
    enabled_changed: bool,
    credential_scope: String,
    /// The credentials' names, without their values.
    credential_keys: Vec<String>,
    permissions: Map<String, Value>,
}

#[derive(JsonSchema)]
pub(crate) struct Servers {
    servers: Vec<Server>,
}

/// Permissions for reads and writes: `allow`, `ask` or `deny`.
#[derive(JsonSchema)]
struct ServerPermissions {
    read: String,
    write: String,
}

#[derive(JsonSchema)]
struct Server {
    name: String,
    /// `stdio` or `http`.
    #[schemars(rename = "type")]
    kind: String,
    enabled: bool,
    trusted: bool,
    /// `acp`, `global` or `project`.
    source: String,
    path: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    url: Option<String>,
    /// Timeout in seconds.
    timeout: f64,
    permissions: ServerPermissions,
}

#[derive(JsonSchema)]
pub(crate) struct Tools {
    tools: Vec<Tool>,
}

/// A tool of an MCP server.
#[derive(JsonSchema)]
pub(crate) struct Tool {
    server: String,
    name: String,
    /// `SERVER.TOOL`.
    function: String,
    /// `app.mcp.SERVER.TOOL`.
    lua_path: String,
    description: String,
    /// `read` or `write`.
    operation: String,
    /// The schema of each parameter.
    parameters: Map<String, Value>,
    /// The schema of the arguments.
    schema: Map<String, Value>,
}

#[derive(JsonSchema)]
pub(crate) struct ToolCalled {
    function: String,
    success: bool,
    data: Value,
    error: Option<String>,
    meta: ToolMeta,
    duration_ms: f64,
}

#[derive(JsonSchema)]
struct ToolMeta {
    dry_run: bool,
    operation: Option<String>,
    permission_bypassed: bool,
    server: Option<String>,
}

#[derive(JsonSchema)]
pub(crate) struct ServerAdded {
    name: String,
    scope: String,
    path: String,
    enabled: bool,
    trusted: bool,
    permissions: ServerPermissions,
}

/// The result of storing a secret, without the secret.
#[derive(JsonSchema)]
pub(crate) struct SecretSet {
    server: String,
    key: String,
    configured: bool,
}

#[derive(JsonSchema)]
pub(crate) struct LuaExecuted {
    success: bool,
    /// The script's output.
    output: String,
    error: Option<String>,
    /// The returned values as text.
    result: Option<String>,
    /// The returned values as JSON; as text where a value has no JSON form.
    values: Vec<Value>,
    execution_time_ms: f64,
    /// Bytes.
    memory_usage: u64,
    integration_calls: u64,
    meta: LuaMeta,
}

#[derive(JsonSchema)]
struct LuaMeta {
    permission_bypassed: bool,
}

#[derive(JsonSchema)]
pub(super) struct Hits {
    hits: Vec<Hit>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Hit {
    session_id: String,
    cwd: String,
    title: Option<String>,
    seq: u64,
    excerpt: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Exported {
    session_id: String,
    format: String,
    text: String,
}

#[derive(JsonSchema)]
pub(super) struct Checkpoints {
    checkpoints: Vec<Checkpoint>,
}

#[derive(JsonSchema)]
struct Checkpoint {
    turn: u64,
    prompt: String,
    files: Vec<String>,
}

#[derive(JsonSchema)]
pub(super) struct Shells {
    /// In the order in which they were started; of `shells/stop` those that it stopped.
    shells: Vec<ShellEntry>,
}

#[derive(JsonSchema)]
pub(super) struct ShellOutput {
    shell: ShellEntry,
    /// The last output, as plain text; at most 16 KiB and one line.
    output: String,
}

#[derive(JsonSchema)]
pub(super) struct GoalResult {
    /// Null if there is none.
    goal: Option<GoalState>,
}

#[derive(JsonSchema)]
pub(super) struct Tasks {
    /// In the order they were created.
    tasks: Vec<TaskEntry>,
}

#[derive(JsonSchema)]
pub(super) struct Rewound {
    /// Whether the tasks were restored; null if they needed no change, false if they have changed
    /// since and were left.
    tasks: Option<bool>,
    restored: Vec<String>,
    merged: Vec<String>,
    left: Vec<Left>,
}

#[derive(JsonSchema)]
struct Left {
    path: String,
    reason: String,
}

#[derive(JsonSchema)]
pub(super) struct Explained {
    steps: Vec<Step>,
}

#[derive(JsonSchema)]
struct Step {
    rule: String,
    says: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Decisions {
    decisions: Vec<Decision>,
    left_out: u64,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
struct Decision {
    tool_call_id: String,
    tool: String,
    title: String,
    /// `allow`, `always`, `deny` or `never`.
    decision: String,
    rule: String,
}

/// Items of a project that can execute commands, redirect requests or instruct the model.
#[derive(JsonSchema)]
pub(super) struct Trust {
    folder: String,
    items: Vec<TrustItem>,
    /// Messages about files whose items cannot be determined.
    problems: Vec<String>,
}

/// An MCP server, a hook, a skill, a command, or settings that do more than tighten restrictions.
#[derive(JsonSchema)]
struct TrustItem {
    id: String,
    /// `server`, `hook`, `settings`, `skill` or `command`.
    kind: String,
    name: String,
    /// The file that defines it.
    source: String,
    /// `trusted`, `untrusted`, `changed` or `unknown`.
    state: String,
    /// The hash to trust; null if it cannot be determined.
    hash: Option<String>,
    /// A description in lines for display, without secrets.
    content: Vec<String>,
    /// Why it is not trusted; null if it is.
    problem: Option<String>,
}

/// The memories that are visible in a project.
#[derive(JsonSchema)]
pub(super) struct Memories {
    /// The root of the project.
    project: String,
    /// Whether the user trusts the project with memories.
    trusted: bool,
    /// The most important first, or the best match.
    memories: Vec<Memory>,
}

/// A memory. Times are in RFC 3339.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Memory {
    id: u64,
    /// `project`, `user` or `decision`.
    #[schemars(rename = "type")]
    kind: String,
    /// `durable`, `working` or `priority`.
    memory_class: String,
    title: String,
    content: String,
    pinned: bool,
    /// The root of its project; null if it is valid in every project.
    project: Option<String>,
    /// The session that saved it.
    session_id: Option<String>,
    created_at: String,
    updated_at: String,
    /// When it was last sent to a model.
    surfaced_at: Option<String>,
    /// When it expires; null means never.
    expires_at: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Usage {
    model: Option<String>,
    tokens_in: u64,
    tokens_out: u64,
    cache_read: u64,
    cache_write: u64,
    /// In US dollars; null if the price is unknown.
    cost: Option<f64>,
    /// Tokens that the cost omits because their price is unknown.
    unpriced_tokens: u64,
    context_used: u64,
    max_context: Option<u64>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Subagents {
    tree: Vec<Node>,
    /// The statistics of each subagent, by id.
    stats: BTreeMap<String, Stats>,
    summary: Summary,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Subagent {
    stats: Stats,
    /// The session it ran in, once it has begun.
    session: Option<String>,
    /// The git branch with its changes, if it worked in a worktree.
    branch: Option<String>,
    result: Option<String>,
    /// What it did, as Markdown.
    transcript: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SubagentsCancelled {
    /// Whether any was at work.
    cancelled: bool,
}

/// The report of `tiller doctor --json`.
#[derive(JsonSchema)]
pub(super) struct Report {
    success: bool,
    version: String,
    /// The provider of the default model; null without a model.
    default_provider: Option<String>,
    default_model: Option<String>,
    /// `present`, `missing` or `not_needed`; null without a model.
    provider_auth_status: Option<String>,
    sandbox: Map<String, Value>,
    paths: BTreeMap<String, String>,
    providers: Vec<Map<String, Value>>,
    /// Whether the web can be searched, and the local hosts that may be fetched from.
    web: Map<String, Value>,
    /// The database of all sessions, and remains of earlier damage to it.
    sessions: Map<String, Value>,
    notices: Vec<String>,
    issues: Vec<String>,
    /// Commands that fix the issues.
    next_commands: Vec<String>,
}
