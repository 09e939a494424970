//! The native layer's requests: decoding, and their start and end events.

use super::{
    event::{Event, Operation, RuntimeChange},
    fields::Fields,
    services::{
        AddServer, CallFunction, CallTool, ConfigureIntegration, ConfigureProvider, ExecuteLua, Hidden,
        ListFunctions, ListTools, LuaRuntime, LuaSource, NativeServices, RequestContext, ServiceError,
        SetSecret, SetSetting,
    },
};
use crate::connection::errors;
use agent_client_protocol::{Error, ErrorCode};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// A request that acts on something beyond its session.
#[derive(Debug)]
pub(crate) enum Request {
    SetSetting(SetSetting),
    ConfigureProvider(ConfigureProvider),
    ListFunctions(ListFunctions),
    DescribeFunction(String),
    CallFunction(CallFunction),
    ConfigureIntegration(ConfigureIntegration),
    ListServers { force: bool },
    ListTools(ListTools),
    ToolSchema { function: String, force: bool },
    CallTool(CallTool),
    AddServer(AddServer),
    SetSecret(SetSecret),
    ExecuteLua { run: ExecuteLua, runtime: String },
}

impl Request {
    /// Decodes a request; `None` if the name is unknown.
    pub(crate) fn decode(name: &str, fields: &Fields) -> Option<Result<Self, Error>> {
        let decoded = || {
            Ok(match name {
                "settings/set" => Self::SetSetting(SetSetting {
                    path: fields.text("path")?,
                    value: fields.scalars("value")?,
                    scope: fields.scope()?,
                }),
                "providers/configure" => Self::ConfigureProvider(ConfigureProvider {
                    provider: fields.text("provider")?,
                    model: fields.optional("model")?,
                    api_key: fields.optional("apiKey")?.map(Hidden::new),
                    base_url: fields.optional("baseUrl")?,
                    scope: fields.scope()?,
                }),
                "integrations/list" => Self::ListFunctions(ListFunctions {
                    query: fields.optional("query")?,
                    limit: usize::try_from(fields.count("limit", 1, 100, 500)?).unwrap_or(500),
                }),
                "integrations/describe" => Self::DescribeFunction(fields.function()?),
                "integrations/call" => Self::CallFunction(CallFunction {
                    function: fields.function()?,
                    args: fields.object("args")?,
                    account: fields.optional("account")?,
                    force: fields.flag("force", false)?,
                    dry_run: fields.flag("dryRun", false)?,
                }),
                "integrations/configure" => Self::ConfigureIntegration(ConfigureIntegration {
                    integration: fields.text("integration")?,
                    account: fields.optional("account")?.unwrap_or_else(|| "default".to_owned()),
                    credentials: fields.hidden("credentials")?,
                    enabled: fields.optional_flag("enabled")?,
                    permissions: fields.permissions()?,
                    scope: fields.scope()?,
                }),
                "mcp/list_servers" => Self::ListServers { force: fields.flag("force", false)? },
                "mcp/list_tools" => Self::ListTools(ListTools {
                    server: fields.optional("server")?,
                    force: fields.flag("force", false)?,
                }),
                "mcp/schema" => {
                    Self::ToolSchema { function: fields.function()?, force: fields.flag("force", false)? }
                }
                "mcp/call_tool" => Self::CallTool(CallTool {
                    function: fields.function()?,
                    args: fields.object("args")?,
                    force: fields.flag("force", false)?,
                    dry_run: fields.flag("dryRun", false)?,
                }),
                "mcp/add_stdio_server" => Self::AddServer(AddServer {
                    name: fields.text("name")?,
                    command: fields.text("command")?,
                    args: fields.texts("args")?,
                    env: fields.hidden("env")?,
                    enabled: fields.flag("enabled", true)?,
                    trust: fields.flag("trust", false)?,
                    permissions: fields.permissions()?,
                    scope: fields.scope()?,
                }),
                "mcp/set_secret" => Self::SetSecret(SetSecret {
                    server: fields.text("server")?,
                    key: fields.text("key")?,
                    value: Hidden::new(fields.text("value")?),
                }),
                _ => lua(fields)?,
            })
        };
        let known = matches!(
            name,
            "settings/set"
                | "providers/configure"
                | "integrations/list"
                | "integrations/describe"
                | "integrations/call"
                | "integrations/configure"
                | "mcp/list_servers"
                | "mcp/list_tools"
                | "mcp/schema"
                | "mcp/call_tool"
                | "mcp/add_stdio_server"
                | "mcp/set_secret"
                | "lua/execute"
        );
        known.then(decoded)
    }

    /// Returns the event for its start, if there is one.
    pub(crate) fn start_event(&self) -> Option<Event> {
        match self {
            Self::CallFunction(call) => Some(integration(
                "call_started",
                [
                    ("function", json!(call.function)),
                    ("args", json!(call.args)),
                    ("account", json!(call.account)),
                    ("force", json!(call.force)),
                    ("dryRun", json!(call.dry_run)),
                ],
            )),
            Self::CallTool(call) => Some(mcp(
                "call_started",
                [
                    ("function", json!(call.function)),
                    ("args", json!(call.args)),
                    ("force", json!(call.force)),
                    ("dryRun", json!(call.dry_run)),
                ],
            )),
            Self::ExecuteLua { runtime, .. } => {
                Some(integration("lua_started", [("runtime", json!(runtime))]))
            }
            _ => None,
        }
    }

    /// Returns the event for its result.
    pub(crate) fn end_event(&self, result: &Value) -> Event {
        let result = ("result", result.clone());
        match self {
            Self::SetSetting(_) => changed("setting_set", result.1),
            Self::ConfigureProvider(_) => changed("provider_configured", result.1),
            Self::ListFunctions(_) => integration("list", [result]),
            Self::DescribeFunction(function) => {
                integration("describe", [("function", json!(function)), result])
            }
            Self::CallFunction(call) => {
                integration("call_completed", [("function", json!(call.function)), result])
            }
            Self::ConfigureIntegration(_) => integration("configured", [result]),
            Self::ListServers { .. } => mcp("list_servers", [result]),
            Self::ListTools(query) => mcp("list_tools", [("server", json!(query.server)), result]),
            Self::ToolSchema { function, .. } => mcp("schema", [("function", json!(function)), result]),
            Self::CallTool(call) => mcp("call_completed", [("function", json!(call.function)), result]),
            Self::AddServer(_) => mcp("server_configured", [result]),
            Self::SetSecret(_) => mcp("secret_set", [result]),
            Self::ExecuteLua { runtime, .. } => {
                integration("lua_completed", [("runtime", json!(runtime)), result])
            }
        }
    }

    /// Returns the result to report after a failure or a cancellation, for requests with a start
    /// event.
    pub(crate) fn failure(&self, why: &str, took: Duration) -> Option<Value> {
        let took = took.as_secs_f64() * 1000.0;
        match self {
            Self::CallFunction(call) => {
                Some(failed_call(&call.function, call.dry_run, why, took, ("account", json!(call.account))))
            }
            Self::CallTool(call) => {
                let server = ("server", json!(call.function.split('.').next()));
                Some(failed_call(&call.function, call.dry_run, why, took, server))
            }
            Self::ExecuteLua { .. } => Some(json!({
                "success": false,
                "output": "",
                "error": why,
                "result": null,
                "execution_time_ms": took,
                "memory_usage": 0,
                "integration_calls": 0,
                "meta": { "permission_bypassed": false },
            })),
            _ => None,
        }
    }

    /// Performs the request.
    pub(crate) async fn act(
        self,
        context: &RequestContext,
        services: &dyn NativeServices,
    ) -> Result<Value, Error> {
        let result = match self {
            Self::SetSetting(set) => services.set_setting(context, set).await,
            Self::ConfigureProvider(set) => services.configure_provider(context, set).await,
            Self::ListFunctions(query) => services.list_functions(context, query).await,
            Self::DescribeFunction(function) => services.describe_function(context, function).await,
            Self::CallFunction(call) => services.call_function(context, call).await,
            Self::ConfigureIntegration(set) => services.configure_integration(context, set).await,
            Self::ListServers { force } => services.list_servers(context, force).await,
            Self::ListTools(query) => services.list_tools(context, query).await,
            Self::ToolSchema { function, force } => services.tool_schema(context, function, force).await,
            Self::CallTool(call) => services.call_tool(context, call).await,
            Self::AddServer(add) => services.add_server(context, add).await,
            Self::SetSecret(set) => services.set_secret(context, set).await,
            Self::ExecuteLua { run, .. } => services.execute_lua(context, run).await,
        };
        result.map_err(service_error)
    }

    /// Returns a copy without secrets, from which events are built.
    pub(crate) fn outline(&self) -> Self {
        match self {
            Self::SetSetting(set) => Self::SetSetting(set.clone()),
            Self::ConfigureProvider(set) => {
                Self::ConfigureProvider(ConfigureProvider { api_key: None, ..set.clone() })
            }
            Self::ListFunctions(query) => Self::ListFunctions(query.clone()),
            Self::DescribeFunction(function) => Self::DescribeFunction(function.clone()),
            Self::CallFunction(call) => Self::CallFunction(call.clone()),
            Self::ConfigureIntegration(set) => Self::ConfigureIntegration(ConfigureIntegration {
                credentials: BTreeMap::new(),
                ..set.clone()
            }),
            Self::ListServers { force } => Self::ListServers { force: *force },
            Self::ListTools(query) => Self::ListTools(query.clone()),
            Self::ToolSchema { function, force } => {
                Self::ToolSchema { function: function.clone(), force: *force }
            }
            Self::CallTool(call) => Self::CallTool(call.clone()),
            Self::AddServer(add) => Self::AddServer(AddServer { env: BTreeMap::new(), ..add.clone() }),
            Self::SetSecret(set) => {
                Self::SetSecret(SetSecret { value: Hidden::new(String::new()), ..set.clone() })
            }
            Self::ExecuteLua { run, runtime } => {
                Self::ExecuteLua { run: run.clone(), runtime: runtime.clone() }
            }
        }
    }
}

/// Converts a service's error to the wire.
pub(crate) fn service_error(error: ServiceError) -> Error {
    match error {
        ServiceError::InvalidParams(message) => errors::invalid_params(message),
        ServiceError::Failed(message) => Error::new(ErrorCode::INTERNAL_ERROR, message),
    }
}

fn lua(fields: &Fields) -> Result<Request, Error> {
    let name = fields.optional("runtime")?.unwrap_or_else(|| "integrations".to_owned());
    let runtime = match name.as_str() {
        "integrations" | "integration" | "all" => LuaRuntime::Integrations,
        "mcp" => LuaRuntime::Mcp,
        unknown => return Err(errors::invalid_params(format!("Unknown Lua runtime: {unknown}"))),
    };
    let source = match (fields.optional("code")?, fields.optional("path")?) {
        (Some(code), _) => LuaSource::Code(code),
        (None, Some(path)) => LuaSource::Path(path),
        (None, None) => return Err(errors::invalid_params("Missing Lua code or path")),
    };
    let options = Fields::of(Value::Object(fields.object("options")?))?;
    let run = ExecuteLua {
        runtime,
        source,
        cpu_limit: options.positive("cpuLimit")?,
        memory_limit: match options.count("memoryLimit", 1, 0, u64::MAX)? {
            0 => None,
            bytes => Some(bytes),
        },
        force: fields.flag("force", false)?,
    };
    Ok(Request::ExecuteLua { run, runtime: name })
}

/// Returns the result of a direct call that failed or was cancelled. `whose` is the additional
/// member of its `meta`: the account or the server.
fn failed_call(function: &str, dry_run: bool, why: &str, took: f64, whose: (&str, Value)) -> Value {
    let mut meta = json!({ "dry_run": dry_run, "operation": null, "permission_bypassed": false });
    meta[whose.0] = whose.1;
    json!({
        "function": function,
        "success": false,
        "data": null,
        "error": why,
        "meta": meta,
        "duration_ms": took,
    })
}

fn integration<const N: usize>(operation: &'static str, fields: [(&'static str, Value); N]) -> Event {
    Event::Integration(Operation { operation, fields: BTreeMap::from(fields) })
}

fn mcp<const N: usize>(operation: &'static str, fields: [(&'static str, Value); N]) -> Event {
    Event::Mcp(Operation { operation, fields: BTreeMap::from(fields) })
}

fn changed(operation: &'static str, result: Value) -> Event {
    Event::RuntimeChanged(RuntimeChange {
        operation: Some(operation),
        result: Some(result),
        ..RuntimeChange::default()
    })
}
