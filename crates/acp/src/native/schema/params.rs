//! The parameters of requests.

#![expect(dead_code, reason = "these are for their schemas; parameters are taken apart by `Fields`")]

use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// No parameters.
#[derive(JsonSchema)]
pub(super) struct Nothing {}

/// A session; those of reports may be stored only.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Named {
    session_id: String,
}

/// Whose settings change; the project's when it is not said.
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

/// What may be done without asking.
#[derive(JsonSchema)]
struct Permissions {
    read: Option<Answer>,
    write: Option<Answer>,
}

/// Text, a number or a flag.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Scalar {
    Text(String),
    Number(f64),
    Flag(bool),
}

/// One of these, or a list of them.
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
    /// With its provider or without.
    model: Option<String>,
    permission_mode: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SetSetting {
    session_id: String,
    /// Such as `kosmokrator.tools.default_permission_mode`.
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
    /// Kept with the secrets.
    api_key: Option<String>,
    base_url: Option<String>,
    scope: Option<Scope>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ListFunctions {
    session_id: String,
    query: Option<String>,
    /// 100 when it is not said; at most 500.
    limit: Option<u64>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct NamedFunction {
    session_id: String,
    /// May be called `name` or `tool`.
    function: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct CallFunction {
    session_id: String,
    /// `PROVIDER.FUNCTION`; may be called `name` or `tool`.
    function: String,
    args: Option<Map<String, Value>>,
    account: Option<String>,
    /// Make it although it would have to ask.
    force: Option<bool>,
    /// Check everything and do nothing.
    dry_run: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ConfigureIntegration {
    session_id: String,
    integration: String,
    /// `default` when it is not said.
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
    /// Those of a project that is not trusted as well.
    force: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ForcedFunction {
    session_id: String,
    /// `SERVER.TOOL`; may be called `name` or `tool`.
    function: String,
    force: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct CallTool {
    session_id: String,
    /// `SERVER.TOOL`; may be called `name` or `tool`.
    function: String,
    args: Option<Map<String, Value>>,
    /// Make it although it would have to ask, and use a server that is not trusted.
    force: Option<bool>,
    /// Check everything and do nothing.
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
    /// True when it is not said.
    enabled: Option<bool>,
    trust: Option<bool>,
    permissions: Option<Permissions>,
    scope: Option<Scope>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct GiveTrust {
    session_id: String,
    /// At least one. Where one is another by now, none is trusted.
    items: Vec<ShownItem>,
}

#[derive(JsonSchema)]
struct ShownItem {
    id: String,
    /// The hash that `trust/list` gave with the content.
    hash: String,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct TakeTrust {
    session_id: String,
    /// All when it is not there.
    ids: Option<Vec<String>>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct SetSecret {
    session_id: String,
    server: String,
    /// Such as `env.GITHUB_TOKEN`.
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
    /// Seconds of computing.
    cpu_limit: Option<f64>,
    /// Bytes of memory.
    memory_limit: Option<u64>,
}

/// `code` or `path`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct ExecuteLua {
    session_id: String,
    runtime: Option<Runtime>,
    code: Option<String>,
    /// A file, from the session's folder.
    path: Option<String>,
    options: Option<LuaOptions>,
    /// Make calls although they would have to ask.
    force: Option<bool>,
}

#[derive(JsonSchema)]
pub(super) struct Search {
    query: String,
    /// Only sessions of this folder.
    cwd: Option<String>,
    /// 20 when it is not said; at most 1,000.
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

/// `to` or `redo`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(super) struct Rewind {
    session_id: String,
    /// A turn's number; 0 is before the first.
    to: Option<u64>,
    redo: Option<bool>,
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
