//! Servers behind a gateway: their tools, prompts and resources under the gateway's names, their
//! results unchanged.

use crate::{
    config::{ServerConfig, ServerTransport},
    connection::Client,
    limits::{FIRST_WAIT, RESTART_WAIT},
    options::McpOptions,
    serve::{CallError, OUR_NAME},
    server::{Server, State},
    tool_definition::ToolDefinition,
};
use agent::ProjectPrograms;
use futures::future::join_all;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::time::Instant;

/// Servers that are kept running for a gateway.
pub struct Upstreams {
    servers: Vec<Arc<Server>>,
    /// The deadline until which requests wait for starting servers.
    first_deadline: Instant,
}

/// A connected server of the gateway.
pub struct Upstream {
    server: Arc<Server>,
    client: Arc<Client>,
}

/// A tool of a server of the gateway.
pub struct UpstreamTool {
    server: Arc<Server>,
    definition: Arc<ToolDefinition>,
}

impl Upstreams {
    /// Starts the servers in the background.
    pub fn start(servers: Vec<ServerConfig>, options: &Arc<McpOptions>, programs: &ProjectPrograms) -> Self {
        let start = |config| Server::start(config, Arc::clone(options), programs.clone(), Arc::default());
        Self {
            servers: servers.into_iter().map(start).collect(),
            first_deadline: Instant::now() + FIRST_WAIT,
        }
    }

    /// Returns the tools of connected servers and of those being restarted. Leaves out a server
    /// with our own name: it may be this very program.
    pub async fn tools(&self) -> Vec<UpstreamTool> {
        let settled = join_all(self.servers.iter().map(|server| server.settled()));
        // Slower servers join later.
        let _ = tokio::time::timeout_at(self.first_deadline, settled).await;
        let mut tools = Vec::new();
        for server in &self.servers {
            let definitions = match server.state() {
                State::Up(connected) if connected.client.name() == OUR_NAME => {
                    tracing::warn!(
                        server = server.config.name,
                        "left out: this server is this program itself"
                    );
                    continue;
                }
                State::Up(connected) => connected.tools.clone(),
                State::Retrying { previous_tools, .. } => previous_tools,
                State::Starting | State::Down(_) => continue,
            };
            let own = definitions.into_iter().filter(|definition| !definition.reads_resources);
            tools.extend(own.map(|definition| UpstreamTool { server: Arc::clone(server), definition }));
        }
        tools
    }

    /// Returns the connected servers that have `resources` or `prompts`, without this program
    /// itself, as above.
    pub async fn with_capability(&self, what: &str) -> Vec<Upstream> {
        let settled = join_all(self.servers.iter().map(|server| server.settled()));
        // Slower servers join later.
        let _ = tokio::time::timeout_at(self.first_deadline, settled).await;
        let there = self.servers.iter().filter_map(|server| match server.state() {
            State::Up(connected) => Some((server, connected)),
            _ => None,
        });
        let matching =
            there.filter(|(_, connected)| connected.client.name() != OUR_NAME && connected.client.has(what));
        matching
            .map(|(server, connected)| Upstream {
                server: Arc::clone(server),
                client: connected.client.clone(),
            })
            .collect()
    }

    /// Ends all servers.
    pub async fn close(&self) {
        join_all(self.servers.iter().map(|server| server.close())).await;
    }
}

impl Upstream {
    /// Returns the server's name.
    pub fn name(&self) -> &str {
        &self.server.config.name
    }

    /// Lists its resources, with the gateway's URIs.
    pub async fn resources(&self) -> Result<Vec<Value>, CallError> {
        let resources = self.client.resources().await.map_err(|why| self.failed(&why))?;
        Ok(resources.into_iter().map(|resource| self.with_gateway_uri(json!(resource), "uri")).collect())
    }

    /// Lists its resource templates, with the gateway's URIs.
    pub async fn templates(&self) -> Result<Vec<Value>, CallError> {
        let templates = self.client.templates().await.map_err(|why| self.failed(&why))?;
        Ok(templates
            .into_iter()
            .map(|template| self.with_gateway_uri(json!(template), "uriTemplate"))
            .collect())
    }

    /// Reads a resource; `uri` is the server's own.
    pub async fn read(&self, uri: &str) -> Result<Value, CallError> {
        let contents = self.client.read(uri).await.map_err(|why| self.failed(&why))?;
        let contents = contents.into_iter().map(|contents| self.with_gateway_uri(json!(contents), "uri"));
        Ok(json!({ "contents": contents.collect::<Vec<_>>() }))
    }

    /// Lists its prompts, each with the server's own name and in the gateway's form.
    pub async fn prompts(&self) -> Result<Vec<(String, Value)>, CallError> {
        let prompts = self.client.prompts().await.map_err(|why| self.failed(&why))?;
        let listed = prompts.into_iter().map(|prompt| {
            let mut listed = json!(prompt);
            listed["name"] = json!(format!("{}__{}", self.name(), prompt.name));
            (prompt.name, listed)
        });
        Ok(listed.collect())
    }

    /// Fills in a prompt; `name` is the server's own.
    pub async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, CallError> {
        let filled = self.client.prompt(name, arguments).await.map_err(|why| self.failed(&why))?;
        let mut filled = json!(filled);
        for message in filled["messages"].as_array_mut().into_iter().flatten() {
            to_gateway_content(self.name(), &mut message["content"]);
        }
        Ok(filled)
    }

    fn with_gateway_uri(&self, mut listed: Value, key: &str) -> Value {
        to_gateway_uri(self.name(), &mut listed[key]);
        listed
    }

    fn failed(&self, why: &str) -> CallError {
        CallError::Failed(format!("MCP server '{}': {why}", self.name()))
    }
}

/// The scheme of the gateway's URIs: `mcp://SERVER/`, followed by the server's own URI.
const SCHEME: &str = "mcp://";

/// Splits a URI of the gateway into the server's name and the server's own URI.
pub fn split_gateway_uri(uri: &str) -> Option<(&str, &str)> {
    uri.strip_prefix(SCHEME)?.split_once('/')
}

/// Turns a server's URI into one of the gateway.
fn to_gateway_uri(server: &str, uri: &mut Value) {
    if let Value::String(uri) = uri {
        uri.insert_str(0, &format!("{SCHEME}{server}/"));
    }
}

/// Turns the URIs in content into those of the gateway.
fn to_gateway_content(server: &str, content: &mut Value) {
    match content["type"].as_str() {
        Some("resource_link") => to_gateway_uri(server, &mut content["uri"]),
        Some("resource") => to_gateway_uri(server, &mut content["resource"]["uri"]),
        _ => {}
    }
}

impl UpstreamTool {
    /// Returns the gateway's name for the tool: `SERVER__TOOL`.
    pub fn name(&self) -> &str {
        self.function().strip_prefix("mcp__").unwrap_or(self.function())
    }

    /// Returns the name for permission rules.
    pub fn function(&self) -> &str {
        &self.definition.function
    }

    /// Returns whether the server declares the tool read-only.
    pub fn is_read_only(&self) -> bool {
        self.definition.read_only
    }

    /// Returns the tool in the format of `tools/list`.
    pub fn listed(&self) -> Value {
        let ToolDefinition { title, description, schema, read_only, .. } = &*self.definition;
        json!({
            "name": self.name(),
            "title": title,
            "description": description,
            "inputSchema": schema.parameters(),
            "annotations": { "readOnlyHint": read_only },
        })
    }

    /// Calls the tool and returns the server's result; only URIs of resources are rewritten.
    /// Dropping the future cancels the call.
    pub async fn call(&self, arguments: Map<String, Value>) -> Result<Value, CallError> {
        let failed =
            |why: String| CallError::Failed(format!("MCP server '{}': {why}", self.server.config.name));
        let client = self.server.ready(RESTART_WAIT).await.map_err(failed)?;
        let result = client.call(&self.definition.tool, Value::Object(arguments)).await.map_err(failed)?;
        let mut result = serde_json::to_value(result).map_err(|error| failed(error.to_string()))?;
        for content in result["content"].as_array_mut().into_iter().flatten() {
            to_gateway_content(&self.server.config.name, content);
        }
        Ok(result)
    }
}

/// Returns whether a description starts this very program as a gateway; `program` is the path it
/// was started as.
pub fn is_this_gateway(server: &ServerConfig, program: &str) -> bool {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    match &server.transport {
        ServerTransport::Stdio { command, args, .. } => {
            last(command) == last(program) && args.iter().any(|arg| arg == "serve" || arg == "mcp:serve")
        }
        ServerTransport::Http { .. } => false,
    }
}
