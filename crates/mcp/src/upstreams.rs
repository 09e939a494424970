//! Servers behind a gateway: their tools under names of the gateway, their results as they are.

use crate::{
    config::{How, ServerConfig},
    limits::{FIRST_WAIT, RESTART_WAIT},
    provider::McpOptions,
    serve::{CallError, OUR_NAME},
    server::{Server, State},
    tool::Definition,
};
use futures::future::join_all;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use system::AbsPath;
use tokio::time::Instant;

/// Servers that are kept running for a gateway.
pub struct Upstreams {
    servers: Vec<Arc<Server>>,
    /// Until when the first request waits for servers that are starting.
    first: Instant,
}

/// A tool of one of them.
pub struct UpstreamTool {
    server: Arc<Server>,
    definition: Arc<Definition>,
}

impl Upstreams {
    /// Starts them in the background.
    pub fn start(servers: Vec<ServerConfig>, options: &Arc<McpOptions>, cwd: &AbsPath) -> Self {
        let start = |config| Server::start(config, Arc::clone(options), cwd.clone(), Arc::default());
        Self { servers: servers.into_iter().map(start).collect(), first: Instant::now() + FIRST_WAIT }
    }

    /// The tools of those that are there, or were and are being started again. Never those of this very program: a server that calls itself what we
    /// do may well be us.
    pub async fn tools(&self) -> Vec<UpstreamTool> {
        let settled = join_all(self.servers.iter().map(|server| server.settled()));
        // Those that are late join later.
        let _ = tokio::time::timeout_at(self.first, settled).await;
        let mut tools = Vec::new();
        for server in &self.servers {
            let definitions = match server.state() {
                State::Up(live) if live.client.name() == OUR_NAME => {
                    tracing::warn!(server = server.config.name, "left out: it is this program itself");
                    continue;
                }
                State::Up(live) => live.tools.clone(),
                State::Trying { had, .. } => had,
                State::Starting | State::Down(_) => continue,
            };
            let own = definitions.into_iter().filter(|definition| !definition.reads_resources);
            tools.extend(own.map(|definition| UpstreamTool { server: Arc::clone(server), definition }));
        }
        tools
    }

    /// Ends them all.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }
}

impl UpstreamTool {
    /// What the gateway calls it: `SERVER__TOOL`.
    pub fn name(&self) -> &str {
        self.function().strip_prefix("mcp__").unwrap_or(self.function())
    }

    /// What rules call it.
    pub fn function(&self) -> &str {
        &self.definition.function
    }

    /// Whether its server says that it only reads.
    pub fn is_read_only(&self) -> bool {
        self.definition.read_only
    }

    /// It, as `tools/list` tells it.
    pub fn listed(&self) -> Value {
        let Definition { title, description, parameters, read_only, .. } = &*self.definition;
        json!({
            "name": self.name(),
            "title": title,
            "description": description,
            "inputSchema": parameters,
            "annotations": { "readOnlyHint": read_only },
        })
    }

    /// Calls it: its result as its server gave it. Dropping the future tells the server.
    pub async fn call(&self, arguments: Map<String, Value>) -> Result<Value, CallError> {
        let failed =
            |why: String| CallError::Failed(format!("MCP server '{}': {why}", self.server.config.name));
        let client = self.server.ready(RESTART_WAIT).await.map_err(failed)?;
        let result = client.call(&self.definition.tool, Value::Object(arguments)).await.map_err(failed)?;
        serde_json::to_value(result).map_err(|error| failed(error.to_string()))
    }
}

/// Whether a description starts this very program as a gateway; `program` is what it is started as.
pub fn is_this_gateway(server: &ServerConfig, program: &str) -> bool {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    match &server.how {
        How::Stdio { command, args, .. } => {
            last(command) == last(program) && args.iter().any(|arg| arg == "serve" || arg == "mcp:serve")
        }
        How::Http { .. } => false,
    }
}
