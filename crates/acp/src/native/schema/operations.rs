//! Schemas of the events about requests, by operation.

#![expect(dead_code, reason = "these are for their schemas; what is sent is put together where it happens")]

use super::results::{
    Function, FunctionCalled, Functions, IntegrationConfigured, LuaExecuted, SecretSet, ServerAdded, Servers,
    Tool, ToolCalled, Tools,
};
use schemars::JsonSchema;
use serde_json::{Map, Value};

/// A request about integrations or Lua.
#[derive(JsonSchema)]
#[schemars(tag = "operation", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum IntegrationOperation {
    /// Functions were listed.
    List { result: Functions },
    /// A function was described.
    Describe { function: String, result: Box<Function> },
    /// A call started.
    CallStarted {
        function: String,
        args: Map<String, Value>,
        account: Option<String>,
        force: bool,
        dry_run: bool,
    },
    /// A call ended.
    CallCompleted { function: String, result: FunctionCalled },
    /// An integration was configured.
    Configured { result: IntegrationConfigured },
    /// A script started.
    LuaStarted { runtime: String },
    /// A script ended.
    LuaCompleted { runtime: String, result: LuaExecuted },
}

/// A request about MCP servers.
#[derive(JsonSchema)]
#[schemars(tag = "operation", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum McpOperation {
    /// Servers were listed.
    ListServers { result: Servers },
    /// Tools were listed.
    ListTools { server: Option<String>, result: Tools },
    /// A tool was described.
    Schema { function: String, result: Tool },
    /// A call started.
    CallStarted { function: String, args: Map<String, Value>, force: bool, dry_run: bool },
    /// A call ended.
    CallCompleted { function: String, result: ToolCalled },
    /// A server was stored.
    ServerConfigured { result: ServerAdded },
    /// A secret was stored.
    SecretSet { result: SecretSet },
}
