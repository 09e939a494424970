//! MCP servers in scripts.
//!
//! Outside of a turn, scripts call the servers' tools directly, under the same rules as programs.
//! Everywhere they can query resources and prompts.

use super::{DirectServers, DirectTool};
use crate::integrations::IntegrationFunctions;
use ::mcp::{DirectQuery, McpProvider};
use agent::{AnyTool, DirectCaller, Refusal, SessionId, ToolResult};
use async_trait::async_trait;
use lua::{Account, Function, FunctionKind, Functions, Native, Query, ScriptHost};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

/// The tools of servers, below `app.mcp`.
pub(crate) struct ServerFunctions {
    direct: Arc<DirectServers>,
    found: OnceLock<Vec<DirectTool>>,
}

impl ServerFunctions {
    pub(crate) fn new(direct: Arc<DirectServers>) -> Self {
        Self { direct, found: OnceLock::new() }
    }
}

#[async_trait]
impl Functions for ServerFunctions {
    async fn prepare(&self) {
        if self.found.get().is_none() {
            let (tools, problems) = self.direct.tools().await;
            // A script that uses the server gets the problem from `explain`.
            problems.iter().for_each(|problem| tracing::info!("{problem}"));
            // A concurrent call may have stored the same list first.
            let _ = self.found.set(tools);
        }
    }

    fn list(&self) -> Vec<Function> {
        let function = |tool: &DirectTool| Function {
            kind: FunctionKind::Mcp,
            namespace: tool.server().to_owned(),
            account: Account::Default,
            name: tool.own_name().to_owned(),
            spec: tool.spec(),
            tool: Some(Arc::new(tool.clone())),
            unready: None,
        };
        self.found.get().into_iter().flatten().map(function).collect()
    }

    async fn explain(&self, kind: FunctionKind, path: &[String]) -> Option<String> {
        if kind != FunctionKind::Mcp {
            return None;
        }
        self.direct.explain_unavailable(path.first()?).await
    }

    async fn query(&self, server: &str, query: Query) -> Result<(Arc<dyn AnyTool>, Value), String> {
        self.direct.direct_query(server, direct_query(query)).await
    }
}

/// The functions that a script in a session's turn has in addition to the session's tools: those of
/// integrations, and queries of resources and prompts.
pub(crate) struct SessionFunctions {
    pub(crate) integrations: IntegrationFunctions,
    pub(crate) servers: Arc<McpProvider>,
    pub(crate) session: SessionId,
}

#[async_trait]
impl Functions for SessionFunctions {
    async fn prepare(&self) {
        self.integrations.prepare().await;
    }

    fn list(&self) -> Vec<Function> {
        self.integrations.list()
    }

    fn server_tool_names(&self) -> BTreeMap<String, String> {
        self.servers
            .session_servers(&self.session)
            .map(|servers| servers.server_tool_names())
            .unwrap_or_default()
    }

    async fn explain(&self, kind: FunctionKind, path: &[String]) -> Option<String> {
        match kind {
            FunctionKind::Mcp => {
                self.servers.session_servers(&self.session)?.unavailable_reason(path.first()?)
            }
            FunctionKind::Integration => self.integrations.explain(kind, path).await,
        }
    }

    async fn query(&self, server: &str, query: Query) -> Result<(Arc<dyn AnyTool>, Value), String> {
        match self.servers.session_servers(&self.session) {
            Some(servers) => servers.query_tool(server, direct_query(query)).await,
            None => Err("The session has ended.".to_owned()),
        }
    }
}

fn direct_query(query: Query) -> DirectQuery {
    match query {
        Query::Resources => DirectQuery::Resources,
        Query::ReadResource { uri } => DirectQuery::Resource { uri },
        Query::Prompts => DirectQuery::Prompts,
        Query::GetPrompt { name, arguments } => {
            DirectQuery::Prompt { name, arguments: arguments.as_object().cloned().unwrap_or_default() }
        }
    }
}

/// Performs the calls of a script outside of a turn: no user can be asked, and the agent's own
/// tools
/// are not available.
pub(crate) struct DirectHost(pub(crate) DirectCaller);

#[async_trait]
impl ScriptHost for DirectHost {
    async fn native(&self) -> Native {
        Native::NoTurn
    }

    async fn call_native(&self, name: &str, _arguments: Value) -> Result<ToolResult, String> {
        Err(format!("app.tools.{name} is available inside an agent turn only."))
    }

    async fn call(&self, tool: Arc<dyn AnyTool>, arguments: Value) -> Result<ToolResult, String> {
        let output = self.0.call(tool.as_ref(), arguments).await;
        output.map(|output| output.result).map_err(|refusal| refused(&refusal, tool.as_ref()))
    }
}

/// Describes a refusal, with the setting that would allow the call of a server or an integration.
fn refused(refusal: &Refusal, tool: &dyn AnyTool) -> String {
    let name = tool.name();
    let server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    match (refusal, server) {
        (Refusal::NeedsApproval(_), None) => {
            let reads = tool.effect() == agent::Effect::Reads;
            lua::integration_refusal(&name, reads).unwrap_or_else(|| refusal.to_string())
        }
        (Refusal::NeedsApproval(_), Some((server, _))) => {
            super::direct::needs_approval(server, tool.effect() == agent::Effect::Reads)
        }
        _ => refusal.to_string(),
    }
}
