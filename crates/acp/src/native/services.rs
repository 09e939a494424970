//! The seam to what this layer's requests act on beyond sessions: settings, integrations, MCP servers, Lua.

use agent::{Mode, PermissionMode, SessionId};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use system::AbsPath;

/// What the requests of the native layer act on. Whatever is not there answers as if nothing were configured. No result and no error holds a
/// secret. A call is dropped when the client takes its request back.
#[async_trait]
pub trait NativeServices: Send + Sync {
    /// Stores a setting; `{path, scope, configured: true}`.
    async fn set_setting(&self, _on: &Scene, set: SetSetting) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Setting {} cannot be stored here.", set.path)))
    }

    /// Stores how a provider is reached; what is known of it afterwards.
    async fn configure_provider(&self, _on: &Scene, set: ConfigureProvider) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Provider '{}' cannot be configured here.", set.provider)))
    }

    /// What the project in a session's folder brings, with its content and whether it is trusted: `{folder, items, problems}`.
    async fn list_trust(&self, on: &Scene) -> Result<Value, ServiceError> {
        Ok(json!({ "folder": on.cwd.as_str(), "items": [], "problems": [] }))
    }

    /// Trusts items as they were shown; what is known of all of them afterwards. Where one is another by now, none is trusted.
    async fn give_trust(&self, _on: &Scene, items: Vec<GiveTrust>) -> Result<Value, ServiceError> {
        let names: Vec<_> = items.iter().map(|item| item.id.as_str()).collect();
        Err(ServiceError::InvalidParams(format!("The project brings nothing called {}.", names.join(", "))))
    }

    /// Takes the trust in items back, or in all; what is known of all of them afterwards.
    async fn take_trust(&self, on: &Scene, _ids: Option<Vec<String>>) -> Result<Value, ServiceError> {
        self.list_trust(on).await
    }

    /// The functions of integrations: `{functions, providers, locallyRunnableProviders}`.
    async fn list_functions(&self, _on: &Scene, _query: ListFunctions) -> Result<Value, ServiceError> {
        Ok(json!({ "functions": [], "providers": {}, "locallyRunnableProviders": [] }))
    }

    /// One function, with the schema of its parameters.
    async fn describe_function(&self, _on: &Scene, function: String) -> Result<Value, ServiceError> {
        Err(ServiceError::InvalidParams(format!("Unknown integration function: {function}")))
    }

    /// Calls a function. What the permissions refuse, and what fails, is a result with `success: false`.
    async fn call_function(&self, _on: &Scene, call: CallFunction) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Unknown integration function: {}", call.function)))
    }

    /// Stores an integration's credentials, whether it is on, and its permissions.
    async fn configure_integration(
        &self,
        _on: &Scene,
        set: ConfigureIntegration,
    ) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Integration '{}' is not installed.", set.integration)))
    }

    /// The MCP servers: `{servers}`.
    async fn list_servers(&self, _on: &Scene, _force: bool) -> Result<Value, ServiceError> {
        Ok(json!({ "servers": [] }))
    }

    /// The tools of one MCP server or of all: `{tools}`.
    async fn list_tools(&self, _on: &Scene, _query: ListTools) -> Result<Value, ServiceError> {
        Ok(json!({ "tools": [] }))
    }

    /// One tool of an MCP server.
    async fn tool_schema(&self, _on: &Scene, function: String, _force: bool) -> Result<Value, ServiceError> {
        Err(ServiceError::InvalidParams(unknown_tool(&function)))
    }

    /// Calls a tool of an MCP server. Whatever fails is a result with `success: false`.
    async fn call_tool(&self, _on: &Scene, call: CallTool) -> Result<Value, ServiceError> {
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

    /// Stores an MCP server that is a program.
    async fn add_server(&self, _on: &Scene, add: AddServer) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("MCP server '{}' cannot be added here.", add.name)))
    }

    /// Stores a secret of an MCP server: `{server, key, configured: true}`.
    async fn set_secret(&self, _on: &Scene, set: SetSecret) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed(format!("Unknown MCP server: {}", set.server)))
    }

    /// Runs Lua.
    async fn execute_lua(&self, _on: &Scene, _run: ExecuteLua) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed("Lua is not available in this build.".to_owned()))
    }

    /// A stored session as a file: `json` or `markdown`.
    async fn export(&self, _session: &SessionId, format: &str) -> Result<String, ServiceError> {
        Err(ServiceError::Failed(format!("Sessions cannot be exported as {format} here.")))
    }

    /// What this machine and the settings give, and what is wrong with them.
    async fn doctor(&self) -> Result<Value, ServiceError> {
        Err(ServiceError::Failed("There is no report here.".to_owned()))
    }
}

/// Nothing is configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoServices;

impl NativeServices for NoServices {}

/// The session that a request acts for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// The session.
    pub session: SessionId,
    /// Its folder: the project.
    pub cwd: AbsPath,
    /// Its mode.
    pub mode: Mode,
    /// Its permission mode.
    pub permission_mode: PermissionMode,
}

/// Why a request was not done; a sentence for people. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The request is wrong.
    #[error("{0}")]
    InvalidParams(String),
    /// It could not be done.
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
    /// Its word.
    pub fn id(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Global => "global",
        }
    }
}

/// Text that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the one who keeps it.
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
    /// The setting, from the root: `kosmokrator.tools.default_permission_mode`.
    pub path: String,
    /// Text, a number or a flag, or a list of such.
    pub value: Value,
    /// Whose.
    pub scope: Scope,
}

/// `providers/configure`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigureProvider {
    /// The provider.
    pub provider: String,
    /// The model to use by default.
    pub model: Option<String>,
    /// The key.
    pub api_key: Option<Hidden>,
    /// Where it is.
    pub base_url: Option<String>,
    /// Whose settings change.
    pub scope: Scope,
}

/// `integrations/list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFunctions {
    /// What they are about.
    pub query: Option<String>,
    /// The most, 1 to 500.
    pub limit: usize,
}

/// `integrations/call`.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFunction {
    /// `provider.function`.
    pub function: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// Whose account.
    pub account: Option<String>,
    /// Whether permissions are passed over.
    pub force: bool,
    /// Whether nothing is done.
    pub dry_run: bool,
}

/// `integrations/configure`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigureIntegration {
    /// The integration.
    pub integration: String,
    /// The account.
    pub account: String,
    /// Its credentials.
    pub credentials: BTreeMap<String, Hidden>,
    /// Whether it is on.
    pub enabled: Option<bool>,
    /// What it may do without being asked.
    pub permissions: Permissions,
    /// Whose settings change.
    pub scope: Scope,
}

/// What reads and writes may do; `allow`, `ask` or `deny`.
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
    /// Only of this server.
    pub server: Option<String>,
    /// Of servers that are not trusted too.
    pub force: bool,
}

/// `mcp/call_tool`.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTool {
    /// `server.tool`.
    pub function: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// Whether trust and permissions are passed over.
    pub force: bool,
    /// Whether nothing is done.
    pub dry_run: bool,
}

/// `mcp/add_stdio_server`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddServer {
    /// Its name.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, Hidden>,
    /// Whether it is used.
    pub enabled: bool,
    /// Whether it is trusted.
    pub trust: bool,
    /// What its tools may do without being asked.
    pub permissions: Permissions,
    /// Whose settings change.
    pub scope: Scope,
}

/// An item that is to be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiveTrust {
    /// Which.
    pub id: String,
    /// The hash that it had when it was shown.
    pub hash: String,
}

/// `mcp/set_secret`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetSecret {
    /// The server.
    pub server: String,
    /// What it is: `env.GITHUB_TOKEN`.
    pub key: String,
    /// The secret.
    pub value: Hidden,
}

/// `lua/execute`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteLua {
    /// What the code can call.
    pub runtime: LuaRuntime,
    /// The code.
    pub source: LuaSource,
    /// Seconds of work.
    pub cpu_limit: Option<f64>,
    /// Bytes of memory.
    pub memory_limit: Option<u64>,
    /// Whether permissions are passed over.
    pub force: bool,
}

/// What Lua can call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LuaRuntime {
    /// Integrations and MCP servers.
    Integrations,
    /// MCP servers.
    Mcp,
}

/// Where the code is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LuaSource {
    /// Here.
    Code(String),
    /// In a file.
    Path(String),
}

fn unknown_tool(function: &str) -> String {
    format!("Unknown MCP function: {function}")
}
