//! The interface to what native requests act on beyond sessions: settings, integrations, MCP
//! servers, Lua.

use agent::{MemoryClass, MemoryDraft, MemoryId, MemoryKind, Mode, PermissionMode, SessionId};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use system::AbsPath;

/// The services behind the native layer's requests.
///
/// Each default method responds as if nothing were configured. No result and no error may contain a
/// secret. The future of a call is dropped when the client cancels its request.
#[async_trait]
pub trait NativeServices: Send + Sync {
    /// Whether the user has chosen to continue without a language model until one is set up.
    async fn is_without_model(&self) -> bool {
        false
    }

    /// Stores that the user continues without a language model until one is set up.
    async fn set_without_model(&self) {}

    /// Stores a setting; returns `{path, scope, configured: true}`.
    async fn set_setting(&self, _context: &RequestContext, set: SetSetting) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Setting {} cannot be stored here.", set.path)))
    }

    /// Stores the configuration of a provider; returns the resulting configuration.
    async fn configure_provider(
        &self,
        _context: &RequestContext,
        set: ConfigureProvider,
    ) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Provider '{}' cannot be configured here.", set.provider)))
    }

    /// Lists the items of the project in a session's directory, with their content and trust:
    /// `{folder, items, problems}`.
    async fn list_trust(&self, context: &RequestContext) -> Result<Value, ServiceError> {
        Ok(json!({ "folder": context.cwd.as_str(), "items": [], "problems": [] }))
    }

    /// Trusts items as they were listed; returns all items afterwards. If any item has changed
    /// since it was listed, none is trusted.
    async fn grant_trust(
        &self,
        _context: &RequestContext,
        items: Vec<TrustGrant>,
    ) -> Result<Value, ServiceError> {
        let names: Vec<_> = items.iter().map(|item| item.id.as_str()).collect();
        Err(ServiceError::InvalidParams(format!("The project has no item named {}.", names.join(", "))))
    }

    /// Revokes the trust in some items, or in all; returns all items afterwards.
    async fn revoke_trust(
        &self,
        context: &RequestContext,
        _ids: Option<Vec<String>>,
    ) -> Result<Value, ServiceError> {
        self.list_trust(context).await
    }

    /// Lists the functions of integrations: `{functions, providers, locallyRunnableProviders}`.
    async fn list_functions(
        &self,
        _context: &RequestContext,
        _query: ListFunctions,
    ) -> Result<Value, ServiceError> {
        Ok(json!({ "functions": [], "providers": {}, "locallyRunnableProviders": [] }))
    }

    /// Describes a function, with the schema of its parameters.
    async fn describe_function(
        &self,
        _context: &RequestContext,
        function: String,
    ) -> Result<Value, ServiceError> {
        Err(ServiceError::InvalidParams(format!("Unknown integration function: {function}")))
    }

    /// Calls a function. A denied or failed call is a result with `success: false`.
    async fn call_function(
        &self,
        _context: &RequestContext,
        call: CallFunction,
    ) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Unknown integration function: {}", call.function)))
    }

    /// Stores an integration's credentials, permissions and whether it is enabled.
    async fn configure_integration(
        &self,
        _context: &RequestContext,
        set: ConfigureIntegration,
    ) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Integration '{}' is not installed.", set.integration)))
    }

    /// Lists the MCP servers: `{servers}`.
    async fn list_servers(&self, _context: &RequestContext, _force: bool) -> Result<Value, ServiceError> {
        Ok(json!({ "servers": [] }))
    }

    /// Lists the tools of one MCP server or of all: `{tools}`.
    async fn list_tools(&self, _context: &RequestContext, _query: ListTools) -> Result<Value, ServiceError> {
        Ok(json!({ "tools": [] }))
    }

    /// Describes a tool of an MCP server.
    async fn tool_schema(
        &self,
        _context: &RequestContext,
        function: String,
        _force: bool,
    ) -> Result<Value, ServiceError> {
        Err(ServiceError::InvalidParams(unknown_tool(&function)))
    }

    /// Calls a tool of an MCP server. A failed call is a result with `success: false`.
    async fn call_tool(&self, _context: &RequestContext, call: CallTool) -> Result<Value, ServiceError> {
        Ok(json!({
            "function": call.function,
            "success": false,
            "data": null,
            "error": unknown_tool(&call.function),
            "meta": {
                "dry_run": call.dry_run,
                "operation": null,
                "permission_bypassed": call.force,
                "server": call.function.split('.').next(),
            },
            "duration_ms": 0,
        }))
    }

    /// Stores an MCP server that is started as a command.
    async fn add_server(&self, _context: &RequestContext, add: AddServer) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("MCP server '{}' cannot be added here.", add.name)))
    }

    /// Stores a secret of an MCP server; returns `{server, key, configured: true}`.
    async fn set_secret(&self, _context: &RequestContext, set: SetSecret) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Unknown MCP server: {}", set.server)))
    }

    /// Runs a Lua script.
    async fn execute_lua(&self, _context: &RequestContext, _run: ExecuteLua) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed("Lua is not available in this build.".to_owned()))
    }

    /// Lists the memories that are visible in a session's project: `{project, trusted, memories}`.
    async fn list_memories(
        &self,
        context: &RequestContext,
        _query: ListMemories,
    ) -> Result<Value, ServiceError> {
        Ok(json!({ "project": context.cwd.as_str(), "trusted": false, "memories": [] }))
    }

    /// Stores a memory for the user, or changes one; returns it.
    async fn save_memory(
        &self,
        _context: &RequestContext,
        _draft: MemoryDraft,
    ) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed("Memories cannot be saved here.".to_owned()))
    }

    /// Deletes a memory and returns it.
    async fn forget_memory(&self, _context: &RequestContext, id: MemoryId) -> Result<Value, ServiceError> {
        Err(ServiceError::InvalidParams(format!("Memory {id} not found.")))
    }

    /// Exports a stored session as `json` or `markdown`.
    async fn export(&self, _session: &SessionId, format: &str) -> Result<String, ServiceError> {
        Err(ServiceError::Failed(format!("Sessions cannot be exported as {format} here.")))
    }

    /// Checks the environment and the configuration.
    async fn doctor(&self) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed("Reports are not available here.".to_owned()))
    }
}

/// Services with nothing configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoServices;

impl NativeServices for NoServices {}

/// The context of a request: the session for which it acts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestContext {
    /// The id of the session.
    pub session: SessionId,
    /// Its working directory: the project.
    pub cwd: AbsPath,
    /// Its agent mode.
    pub mode: Mode,
    /// Its permission mode.
    pub permission_mode: PermissionMode,
}

/// The error of a request, as a sentence for users. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The request is invalid.
    #[error("{0}")]
    InvalidParams(String),
    /// The request is valid but failed.
    #[error("{0}")]
    Failed(String),
}

/// Whose settings change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The project's.
    Project,
    /// The user's.
    Global,
}

impl Scope {
    /// Returns its name in requests and results.
    pub fn id(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Global => "global",
        }
    }
}

/// A secret string; its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the secret, for storing it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Hidden {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// `settings/set`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetSetting {
    /// The setting's full path, such as `kosmokrator.tools.default_permission_mode`.
    pub path: String,
    /// A string, a number or a boolean, or a list of these.
    pub value: Value,
    /// Whose settings change.
    pub scope: Scope,
}

/// `providers/configure`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigureProvider {
    /// The id of the provider.
    pub provider: String,
    /// The default model.
    pub model: Option<String>,
    /// The API key.
    pub api_key: Option<Hidden>,
    /// The base URL of its API.
    pub base_url: Option<String>,
    /// Whose settings change.
    pub scope: Scope,
}

/// `integrations/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFunctions {
    /// Only functions that match this query.
    pub query: Option<String>,
    /// Maximum number of functions, 1 to 500.
    pub limit: usize,
}

/// `integrations/call`.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFunction {
    /// `provider.function`.
    pub function: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// The account to use.
    pub account: Option<String>,
    /// Whether to bypass permissions.
    pub force: bool,
    /// Whether to only check the call, without making it.
    pub dry_run: bool,
}

/// `integrations/configure`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigureIntegration {
    /// The integration to configure.
    pub integration: String,
    /// The account to configure.
    pub account: String,
    /// Its credentials.
    pub credentials: BTreeMap<String, Hidden>,
    /// Whether to enable or disable it; `None` leaves it unchanged.
    pub enabled: Option<bool>,
    /// Permissions for its functions.
    pub permissions: Permissions,
    /// Whose settings change.
    pub scope: Scope,
}

/// Permissions for reads and writes: `allow`, `ask` or `deny`; `None` if not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions {
    /// Reads.
    pub read: Option<&'static str>,
    /// Writes.
    pub write: Option<&'static str>,
}

/// `mcp/list_tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListTools {
    /// Only tools of this server.
    pub server: Option<String>,
    /// Whether to include servers that are not trusted.
    pub force: bool,
}

/// `mcp/call_tool`.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTool {
    /// `server.tool`.
    pub function: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// Whether to bypass trust and permissions.
    pub force: bool,
    /// Whether to only check the call, without making it.
    pub dry_run: bool,
}

/// `mcp/add_stdio_server`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddServer {
    /// Its name.
    pub name: String,
    /// The command to start.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment variables.
    pub env: BTreeMap<String, Hidden>,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether it is trusted.
    pub trust: bool,
    /// Permissions for its tools.
    pub permissions: Permissions,
    /// Whose settings change.
    pub scope: Scope,
}

/// An item to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustGrant {
    /// The id of the item.
    pub id: String,
    /// The hash that was shown with the item.
    pub hash: String,
}

/// `memories/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListMemories {
    /// Words that must all occur.
    pub query: Option<String>,
    /// Only memories about this.
    pub kind: Option<MemoryKind>,
    /// Only memories of this class.
    pub class: Option<MemoryClass>,
    /// Maximum number of memories.
    pub limit: usize,
}

/// `mcp/set_secret`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSecret {
    /// The server.
    pub server: String,
    /// The secret's key, such as `env.GITHUB_TOKEN`.
    pub key: String,
    /// The secret.
    pub value: Hidden,
}

/// `lua/execute`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteLua {
    /// What the script can call.
    pub runtime: LuaRuntime,
    /// The script.
    pub source: LuaSource,
    /// CPU time limit in seconds.
    pub cpu_limit: Option<f64>,
    /// Memory limit in bytes.
    pub memory_limit: Option<u64>,
    /// Whether to bypass permissions.
    pub force: bool,
}

/// What a Lua script can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LuaRuntime {
    /// Integrations and MCP servers.
    Integrations,
    /// MCP servers.
    Mcp,
}

/// The source of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LuaSource {
    /// The code itself.
    Code(String),
    /// The path of a file.
    Path(String),
}

fn unknown_tool(function: &str) -> String {
    format!("Unknown MCP function: {function}")
}
