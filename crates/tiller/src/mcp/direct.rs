//! Calls MCP servers outside of a model's turn: for programs, and for scripts.
//!
//! A server that the session already runs is reused. Other servers are started for the calls and
//! closed afterwards.

use super::{
    names,
    queries::{data, tool_rows},
    rows::ToolRow,
};
use ::mcp::{
    Client, DirectQuery, McpOptions, Origin, ServerConfig, ServerTransport, SessionServers, server_name,
};
use agent::{
    Access, AnyCall, AnyTool, Description, DirectCaller, Effect, Refusal, ToolContent, ToolContext,
    ToolError, ToolKind, ToolOutput, ToolResult, ToolSpec,
};
use async_trait::async_trait;
use futures::future::join_all;
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::HashMap, sync::Arc};
use system::AbsPath;
use tokio::sync::Mutex;

/// The servers of a directory or a session, with the policy for calls to them.
pub(crate) struct DirectServers {
    options: Arc<McpOptions>,
    outside: DirectCaller,
    session: Option<SessionServers>,
    /// Connections that this value opened, by the server's fingerprint.
    own: Mutex<HashMap<String, Arc<Client>>>,
}

/// A configured server.
pub(crate) struct KnownServer {
    pub(crate) config: ServerConfig,
    /// Whether it may be used without `force`.
    pub(crate) trusted: bool,
}

/// A tool of a server, for direct calls.
#[derive(Clone)]
pub(crate) struct DirectTool {
    direct: Arc<DirectServers>,
    config: ServerConfig,
    /// The server's name of the tool.
    name: String,
    /// Its name for models and permission rules.
    function: String,
    /// Its JSON row, with its other names.
    row: Arc<ToolRow>,
    description: String,
    schema: Value,
    read_only: bool,
}

/// Why a tool cannot be called.
#[derive(Debug)]
pub(crate) enum ToolLookupError {
    /// No tool has this name; holds the most similar name, if any.
    Unknown(Option<String>),
    /// Its server is missing or cannot be used; holds the reason.
    Unavailable(String),
}

impl DirectServers {
    pub(crate) fn new(
        options: Arc<McpOptions>,
        outside: DirectCaller,
        session: Option<SessionServers>,
    ) -> Arc<Self> {
        Arc::new(Self { options, outside, session, own: Mutex::default() })
    }

    /// The options and the policy of the calls.
    pub(crate) fn outside(&self) -> &DirectCaller {
        &self.outside
    }

    /// Returns every configured server, one per name. In order of precedence: those of the client,
    /// trusted
    /// ones from files, those of an untrusted project.
    ///
    /// Starts no servers, except for new ones that the session would start anyway.
    pub(crate) async fn known(&self) -> Vec<KnownServer> {
        let McpOptions { system, files, .. } = &*self.options;
        let (client, found) = match &self.session {
            Some(session) => (session.client_servers(), session.reload().await),
            None => (Vec::new(), ::mcp::find(system.as_ref(), files, &self.outside.cwd).await),
        };
        let trusted =
            client.into_iter().chain(found.servers).map(|config| KnownServer { config, trusted: true });
        let untrusted = found.untrusted.into_iter().map(|config| KnownServer { config, trusted: false });
        let mut known: Vec<KnownServer> = Vec::new();
        for server in trusted.chain(untrusted) {
            if !known.iter().any(|one| one.config.name == server.config.name) {
                known.push(server);
            }
        }
        known
    }

    /// Returns the servers that can be called now.
    async fn usable(&self) -> Vec<ServerConfig> {
        let force = self.outside.force;
        let usable = |server: &KnownServer| server.config.enabled && (server.trusted || force);
        self.known().await.into_iter().filter(usable).map(|server| server.config).collect()
    }

    /// Returns the server of a name.
    ///
    /// # Errors
    /// If there is none, or it is disabled or not trusted.
    pub(crate) async fn server(&self, name: &str) -> Result<ServerConfig, ToolLookupError> {
        let wanted = server_name(name);
        let known = self.known().await.into_iter().find(|server| server.config.name == wanted);
        let Some(KnownServer { config, trusted }) = known else { return Err(ToolLookupError::Unknown(None)) };
        if !trusted && !self.outside.force {
            return Err(ToolLookupError::Unavailable(format!(
                "Project MCP server '{wanted}' is not trusted. Run `tiller mcp trust {wanted}` after reviewing the project's files, or pass \
                 force for trusted automation."
            )));
        }
        if !config.enabled {
            return Err(ToolLookupError::Unavailable(format!(
                "MCP server '{wanted}' is disabled. Run `tiller mcp enable {wanted}`."
            )));
        }
        Ok(config)
    }

    /// Connects to a server. The second value lists the approved tools; `None` means all of them.
    async fn connect(&self, server: &ServerConfig) -> Result<(Arc<Client>, Option<Vec<String>>), String> {
        let named = |why: String| format!("MCP server '{}': {why}", server.name);
        if let Some(session) = &self.session
            && let Some(ready) = session.ready(server).await
        {
            return ready.map(|ready| (ready.client, Some(ready.tools))).map_err(named);
        }
        let mut own = self.own.lock().await;
        if let Some(client) = own.get(&server.fingerprint()) {
            return Ok((client.clone(), None));
        }
        let programs = self.outside.programs();
        let client = Client::connect(server, &self.options, &programs, Arc::default());
        let client = Arc::new(client.await.map_err(|error| named(error.to_string()))?);
        own.insert(server.fingerprint(), client.clone());
        Ok((client, None))
    }

    /// Returns the tools of a server, or the reason why they cannot be listed.
    pub(crate) async fn tools_of(self: &Arc<Self>, server: &ServerConfig) -> Result<Vec<DirectTool>, String> {
        let (client, approved) = self.connect(server).await?;
        let tools = if client.has("tools") { client.tools().await } else { Ok(Vec::new()) };
        let tools = tools.map_err(|why| self.redacted(&format!("MCP server '{}': {why}", server.name)))?;
        let rows = tool_rows(server, &tools);
        let tool = |row: ToolRow| DirectTool {
            direct: self.clone(),
            config: server.clone(),
            name: row.name.clone(),
            function: row.function.clone(),
            description: row.description.clone(),
            schema: row.schema.clone(),
            read_only: row.operation == "read",
            row: Arc::new(row),
        };
        let may = |tool: &DirectTool| approved.as_ref().is_none_or(|names| names.contains(&tool.name));
        Ok(rows.into_iter().map(tool).filter(may).collect())
    }

    /// Returns the tools of all servers that can be called now, and the problems of the other
    /// servers.
    pub(crate) async fn tools(self: &Arc<Self>) -> (Vec<DirectTool>, Vec<String>) {
        let servers = self.usable().await;
        let lists = join_all(servers.iter().map(|server| self.tools_of(server))).await;
        let (mut tools, mut problems) = (Vec::new(), Vec::new());
        for list in lists {
            match list {
                Ok(list) => tools.extend(list),
                Err(why) => problems.push(self.redacted(&why)),
            }
        }
        (tools, problems)
    }

    /// Returns the tool of a name: `SERVER.TOOL`, its name for models, or its path in scripts.
    pub(crate) async fn tool(self: &Arc<Self>, function: &str) -> Result<DirectTool, ToolLookupError> {
        let server = names::server_of(function).ok_or(ToolLookupError::Unknown(None))?;
        let server = self.server(&server).await?;
        let mut tools =
            self.tools_of(&server).await.map_err(|why| ToolLookupError::Unavailable(self.redacted(&why)))?;
        let rows = tools.iter().map(|tool| &*tool.row);
        match names::resolve(rows.clone(), function) {
            Some(at) => Ok(tools.swap_remove(at)),
            None => Err(ToolLookupError::Unknown(names::nearest(rows, function))),
        }
    }

    /// Returns the server of a name, or a message why it cannot be used.
    async fn find(&self, server: &str) -> Result<ServerConfig, String> {
        self.server(server).await.map_err(|error| match error {
            ToolLookupError::Unknown(_) => format!("Unknown MCP server: {server}"),
            ToolLookupError::Unavailable(why) => why,
        })
    }

    /// Explains why a configured server cannot be called; `None` if it can be, or if no server has
    /// that
    /// name.
    pub(crate) async fn explain_unavailable(self: &Arc<Self>, name: &str) -> Option<String> {
        match self.server(name).await {
            Ok(server) => self.tools_of(&server).await.err().map(|why| self.redacted(&why)),
            Err(ToolLookupError::Unavailable(why)) => Some(why),
            Err(ToolLookupError::Unknown(_)) => None,
        }
    }

    /// Returns a tool and its arguments that query a server's resources or prompts.
    pub(crate) async fn direct_query(
        &self,
        server: &str,
        query: DirectQuery,
    ) -> Result<(Arc<dyn AnyTool>, Value), String> {
        let server = self.find(server).await?;
        let (client, _) = self.connect(&server).await.map_err(|why| self.redacted(&why))?;
        Ok(query.tool(&server.name, client, self.options.redactor.clone()))
    }

    /// Returns the permissions of a server in the settings.
    pub(crate) fn permissions(&self, server: &str) -> Value {
        let of = |read_only| self.outside.options.permissions.rules.servers.of(server, read_only).id();
        json!({ "read": of(true), "write": of(false) })
    }

    /// Removes known secrets from a text.
    pub(crate) fn redacted(&self, text: &str) -> String {
        self.options.redactor.redact(text)
    }

    /// Removes known secrets from every text in a value.
    pub(crate) fn without_secrets(&self, value: Value) -> Value {
        self.options.redactor.redact_value(value)
    }

    /// Closes the connections that this value opened.
    pub(crate) async fn close(&self) {
        let own: Vec<_> = self.own.lock().await.drain().map(|(_, client)| client).collect();
        join_all(own.iter().map(|client| client.close())).await;
    }
}

impl KnownServer {
    /// Returns the JSON row of the server.
    pub(crate) fn row(&self, direct: &DirectServers) -> Value {
        let config = &self.config;
        let (source, path) = match &config.origin {
            Origin::Client => ("acp", None),
            Origin::User => ("global", Some(direct.options.files.user.as_str().to_owned())),
            Origin::Project(file) => ("project", Some(direct.outside.cwd.join(file).as_str().to_owned())),
        };
        let (kind, command, args, url) = match &config.transport {
            ServerTransport::Stdio { command, args, .. } => ("stdio", Some(command), args.as_slice(), None),
            ServerTransport::Http { url, sse, .. } => {
                (if *sse { "sse" } else { "http" }, None, &[][..], url.split(['?', '#']).next())
            }
        };
        direct.without_secrets(json!({
            "name": config.name,
            "type": kind,
            "enabled": config.enabled,
            "trusted": self.trusted,
            "source": source,
            "path": path,
            "command": command,
            "args": args,
            "url": url,
            "timeout": config.timeout.map_or(TIMEOUT, |timeout| timeout.as_secs_f64()),
            "permissions": direct.permissions(&config.name),
        }))
    }
}

/// The error for a call that would need the user's approval.
pub(super) fn needs_approval(server: &str, read_only: bool) -> String {
    let operation = if read_only { "read" } else { "write" };
    format!(
        "MCP server '{server}' {operation} requires approval, and no user can approve it here. Configure \
         `mcp.servers.{server}.permissions.{operation}`, or pass force for trusted automation."
    )
}

/// The default connection timeout of a server, in seconds.
const TIMEOUT: f64 = 30.0;

impl DirectTool {
    /// The name of its server.
    pub(crate) fn server(&self) -> &str {
        &self.config.name
    }

    /// The server's name of the tool.
    pub(crate) fn own_name(&self) -> &str {
        &self.name
    }

    /// `read` or `write`.
    pub(crate) fn operation(&self) -> &'static str {
        if self.read_only { "read" } else { "write" }
    }

    /// Returns the JSON row of the tool.
    pub(crate) fn row(&self) -> Value {
        let server = self.server();
        self.direct.without_secrets(json!({
            "server": server,
            "name": self.name,
            "function": format!("{server}.{}", self.name),
            "lua_path": self.row.lua_path,
            "description": self.description,
            "operation": self.operation(),
            "parameters": self.schema.get("properties").cloned().unwrap_or_else(|| json!({})),
            "schema": self.schema,
        }))
    }

    /// Checks a call against the policy. The error is a message for the caller.
    pub(crate) async fn check_call(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let call = self.parse(Value::Object(arguments.clone())).map_err(|error| error.to_string())?;
        let ruled = self.direct.outside.check_call(self, call.as_ref()).await;
        ruled.map(|_| ()).map_err(|refusal| self.refused(&refusal))
    }

    /// Describes a refusal, with the setting that would allow the call.
    pub(crate) fn refused(&self, refusal: &Refusal) -> String {
        match refusal {
            Refusal::NeedsApproval(_) => needs_approval(self.server(), self.read_only),
            Refusal::Denied(reason) => reason.clone(),
            Refusal::Failed(error) => error.to_string(),
        }
    }

    /// Calls the tool without a policy check; returns its data or its error message.
    ///
    /// Dropping the future cancels the call at the server.
    pub(crate) async fn call(&self, arguments: Value) -> Result<Value, String> {
        let direct = &self.direct;
        let (client, _) = direct.connect(&self.config).await.map_err(|why| direct.redacted(&why))?;
        let result = client.call(&self.name, arguments).await;
        let result =
            result.map_err(|why| direct.redacted(&format!("MCP server '{}': {why}", self.server())))?;
        let failed = result.is_error == Some(true);
        let result = serde_json::to_value(result).map_err(|error| error.to_string())?;
        if failed {
            let texts = result["content"].as_array().into_iter().flatten();
            let texts: Vec<_> = texts.filter_map(|content| content["text"].as_str()).collect();
            let text = if texts.is_empty() { "The tool failed.".to_owned() } else { texts.join("\n") };
            return Err(direct.redacted(&text));
        }
        Ok(direct.without_secrets(data(&result)))
    }
}

impl AnyTool for DirectTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.function.clone(),
            description: self.description.clone(),
            parameters: self.schema.clone(),
        }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.function)
    }

    fn effect(&self) -> Effect {
        if self.read_only { Effect::Reads } else { Effect::Writes }
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        if !arguments.is_object() {
            let text = format!("Invalid arguments for '{}': expected an object", self.function);
            return Err(ToolError::message(text));
        }
        Ok(Box::new(Call { tool: self.clone(), arguments }))
    }
}

struct Call {
    tool: DirectTool,
    arguments: Value,
}

#[async_trait]
impl AnyCall for Call {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let title = format!("{}: {}", self.tool.server(), self.tool.name);
        Description { title, kind: ToolKind::Other, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: self.tool.function.clone(), read_only: self.tool.read_only }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (text, is_error) = match self.tool.call(self.arguments.clone()).await {
            Ok(Value::String(text)) => (text, false),
            Ok(data) => (data.to_string(), false),
            Err(why) => (why, true),
        };
        let result = ToolResult { text, images: Vec::new(), is_error };
        Ok(ToolOutput { result, ..ToolOutput::default() })
    }
}
