//! `mcp/*`: lists, calls and configures a session's MCP servers for a client, without a model.

use super::{Services, lua::milliseconds};
use crate::{
    mcp::{self, DirectServers, DirectTool, NewServer, ToolLookupError, Values},
    trust,
};
use ::mcp::server_name;
use acp::native::{AddServer, CallTool, ListTools, RequestContext, Scope, ServiceError, SetSecret};
use serde_json::{Value, json};
use std::{sync::Arc, time::Instant};

/// The project's file that configures servers.
const PROJECT_FILE: &str = ".mcp.json";

/// Returns every server, those of an untrusted project included. Starts none.
pub(super) async fn list_servers(
    services: &Services,
    context: &RequestContext,
    force: bool,
) -> Result<Value, ServiceError> {
    let direct = services.direct(context, force).await?;
    let rows: Vec<_> = direct.known().await.iter().map(|server| server.row(&direct)).collect();
    Ok(json!({ "servers": rows }))
}

/// Returns the tools of the servers that can be called. A named server that cannot be used is an
/// error; in a list of all servers it is left out.
pub(super) async fn list_tools(
    services: &Services,
    context: &RequestContext,
    query: ListTools,
) -> Result<Value, ServiceError> {
    let direct = services.direct(context, query.force).await?;
    let tools = match &query.server {
        Some(name) => {
            let server = direct.server(name).await.map_err(|error| no_server(name, error))?;
            let tools = direct.tools_of(&server).await;
            tools.map_err(|why| ServiceError::Failed(direct.redacted(&why)))
        }
        None => {
            let (tools, problems) = direct.tools().await;
            problems.iter().for_each(|problem| tracing::warn!("{problem}"));
            Ok(tools)
        }
    };
    direct.close().await;
    let rows: Vec<_> = tools?.iter().map(DirectTool::row).collect();
    Ok(json!({ "tools": rows }))
}

/// Returns one tool.
pub(super) async fn tool_schema(
    services: &Services,
    context: &RequestContext,
    function: &str,
    force: bool,
) -> Result<Value, ServiceError> {
    let direct = services.direct(context, force).await?;
    let tool = direct.tool(function).await;
    direct.close().await;
    match tool {
        Ok(tool) => Ok(tool.row()),
        Err(ToolLookupError::Unknown(near)) => {
            Err(ServiceError::InvalidParams(unknown(function, near.as_deref())))
        }
        Err(ToolLookupError::Unavailable(why)) => Err(ServiceError::Failed(why)),
    }
}

/// Calls a tool. Every failure is part of the answer.
pub(super) async fn call_tool(services: &Services, context: &RequestContext, call: CallTool) -> Value {
    let began = Instant::now();
    let (function, force, dry_run) = (call.function.clone(), call.force, call.dry_run);
    let (tool, outcome) = match services.direct(context, force).await {
        Ok(direct) => {
            let outcome = carry_out(&direct, call).await;
            direct.close().await;
            outcome
        }
        Err(error) => (None, Err(error.to_string())),
    };
    let server = match &tool {
        Some(tool) => Some(tool.server().to_owned()),
        None => function.split_once('.').map(|(server, _)| server_name(server)),
    };
    let success = outcome.is_ok();
    let (data, error) = match outcome {
        Ok(data) => (data, None),
        Err(why) => (Value::Null, Some(why)),
    };
    json!({
        "function": function,
        "success": success,
        "data": data,
        "error": error,
        "meta": {
            "dry_run": dry_run,
            "operation": tool.as_ref().map(DirectTool::operation),
            "permission_bypassed": force,
            "server": server,
        },
        "duration_ms": milliseconds(began.elapsed()),
    })
}

/// Returns the tool, if it was found, and its data or the reason for the failure.
async fn carry_out(
    direct: &Arc<DirectServers>,
    call: CallTool,
) -> (Option<DirectTool>, Result<Value, String>) {
    let tool = match direct.tool(&call.function).await {
        Ok(tool) => tool,
        Err(ToolLookupError::Unknown(near)) => return (None, Err(unknown(&call.function, near.as_deref()))),
        Err(ToolLookupError::Unavailable(why)) => return (None, Err(why)),
    };
    if let Err(why) = tool.check_call(&call.args).await {
        return (Some(tool), Err(why));
    }
    let result = match call.dry_run {
        true => Ok(Value::Null),
        false => tool.call(Value::Object(call.args)).await,
    };
    (Some(tool), result)
}

/// Stores a server and its permissions. The next request of this layer can use it, and so can the
/// session's model.
pub(super) async fn add_server(
    services: &Services,
    context: &RequestContext,
    add: AddServer,
) -> Result<Value, ServiceError> {
    let directories = &services.options.directories;
    let name = server_name(&add.name);
    let path = match add.scope {
        Scope::Project => context.cwd.join(PROJECT_FILE),
        Scope::Global => services.extensions.mcp.files.user.clone(),
    };
    let before = services.settings_awaiting_review(context, add.scope).await.filter(|_| add.trust);
    let permissions = [("read", add.permissions.read), ("write", add.permissions.write)];
    for (operation, word) in permissions.iter().filter_map(|(operation, word)| Some((operation, (*word)?))) {
        let setting = format!("mcp.servers.{name}.permissions.{operation}");
        services.store(context, add.scope, &setting, &json!(word), add.trust).await?;
    }
    let failed = |error: anyhow::Error| services.failed(&error);
    {
        let _one_at_a_time = services.writing.lock().await;
        let env = add.env.iter().map(|(name, value)| (name.as_str(), value.reveal())).collect();
        let (command, args, enabled) = (add.command.as_str(), add.args.as_slice(), add.enabled);
        let new = NewServer { name: &add.name, command, args, env, enabled, path: &path };
        mcp::add(&services.extensions.mcp, &values(services), new).await.map_err(failed)?;
        // Other items of the directory that wait for the user's review must not become trusted too.
        if add.trust && add.scope == Scope::Project {
            let trusted = trust::grant_written_server(directories, &context.cwd, PROJECT_FILE, &name).await;
            trusted.map_err(failed)?;
        }
    }
    services.stay_trusted(context, before).await?;
    services.runtime.settings_changed();
    let direct = services.direct(context, false).await?;
    let trusted = direct.known().await.iter().any(|server| server.config.name == name && server.trusted);
    Ok(json!({
        "name": name,
        "scope": add.scope.id(),
        "path": path.as_str(),
        "enabled": add.enabled,
        "trusted": trusted,
        "permissions": direct.permissions(&name),
    }))
}

/// Stores a secret, to which configurations refer as `@secret:mcp.SERVER.KEY`.
pub(super) async fn set_secret(
    services: &Services,
    _context: &RequestContext,
    set: SetSecret,
) -> Result<Value, ServiceError> {
    let _one_at_a_time = services.writing.lock().await;
    let key = mcp::secret_key(&set.server, &set.key);
    let kept = mcp::keep_secret(&values(services), key, set.value.reveal()).await;
    kept.map_err(|error| services.failed(&error))?;
    Ok(json!({ "server": set.server, "key": set.key, "configured": true }))
}

fn values(services: &Services) -> Values {
    Values::new(
        services.environment.clone(),
        services.extensions.mcp.system.clone(),
        &services.options.directories,
    )
}

fn unknown(function: &str, nearest: Option<&str>) -> String {
    let hint = nearest.map(|nearest| format!(". Did you mean {nearest}?")).unwrap_or_default();
    format!("Unknown MCP function: {function}{hint}")
}

fn no_server(name: &str, error: ToolLookupError) -> ServiceError {
    match error {
        ToolLookupError::Unknown(_) => ServiceError::InvalidParams(format!("Unknown MCP server: {name}")),
        ToolLookupError::Unavailable(why) => ServiceError::Failed(why),
    }
}
