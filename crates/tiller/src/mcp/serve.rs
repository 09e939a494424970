//! `tiller mcp serve`: a gateway that serves chosen servers and integrations as one MCP server on
//! stdin and stdout.

use super::CommandContext;
use crate::{
    args::Serve,
    exit::Exit,
    failure::usage,
    integrations::{Integrations, tools_of},
    signals, stdio, wiring,
};
use ::mcp::{
    CallError, Gateway, McpOptions, Upstream, UpstreamTool, Upstreams, is_this_gateway, split_gateway_uri,
    tool_name,
};
use agent::{
    Access, AnyCall, AnyTool, Content, Description, DirectCaller, Effect, Refusal, ToolContent, ToolContext,
    ToolError, ToolKind, ToolOutput, ToolSpec,
};
use anyhow::{Context, Result, ensure};
use async_trait::async_trait;
use futures::future::join_all;
use serde_json::{Map, Value, json};
use std::{borrow::Cow, sync::Arc};
use system::AbsPath;

/// The environment variable of every process that a gateway starts. It keeps a gateway from being
/// started by a gateway.
pub(super) const MARK: &str = "TILLER_MCP_SERVING";

/// Serves until the client disconnects or a signal arrives.
pub(super) async fn run(context: &CommandContext<'_>, serve: Serve) -> Result<Exit> {
    ensure!(
        context.environment.get(MARK).is_none(),
        "this was started by `tiller mcp serve` itself: a gateway cannot serve itself"
    );
    if serve.upstream.is_empty() && serve.integration.is_empty() {
        return Err(usage(
            "nothing to serve: name servers with --upstream, or integrations with --integration",
        ));
    }
    #[expect(clippy::disallowed_methods, reason = "the program that clients are told to start is this one")]
    let program = std::env::current_exe().context("this program cannot be named")?;
    let mut servers = Vec::new();
    for name in &serve.upstream {
        let server = context.chosen(Some(name)).await?.remove(0);
        ensure!(server.enabled, "MCP server '{}' is disabled", server.name);
        ensure!(
            !is_this_gateway(&server, &program.to_string_lossy()),
            "MCP server '{}' is `tiller mcp serve` itself: a gateway cannot serve itself",
            server.name
        );
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    let functions = functions(context, &serve.integration).await?;
    let mut options = McpOptions::clone(&context.servers);
    options.variables.push((MARK.to_owned(), "1".to_owned()));
    let redactor = options.redactor.clone();
    let outside = wiring::outside(context.options, context.cwd, true);
    let gateway = Arc::new(GatewayState {
        upstreams: Upstreams::start(servers, &Arc::new(options), &outside.programs()),
        functions,
        // The user approved what the command line names; what the settings deny stays denied.
        outside,
        write: serve.write.allows(),
    });
    signals::end_in_order();
    let (output, failure) = stdio::output();
    let shared: Arc<dyn Gateway> = gateway.clone();
    let code = tokio::select! {
        served = ::mcp::serve(stdio::input(), output, shared, redactor, env!("CARGO_PKG_VERSION")) => {
            served.map(|()| Exit::Ok).map_err(anyhow::Error::from)
        }
        exit = signals::next() => Ok(exit),
        () = failure.happened() => Ok(Exit::Ok),
    };
    gateway.upstreams.close().await;
    match failure.is_hung_up()? {
        true => Ok(Exit::Ok),
        false => code,
    }
}

/// Returns the functions of integrations as tools.
async fn functions(context: &CommandContext<'_>, names: &[String]) -> Result<Vec<Arc<dyn AnyTool>>> {
    let mut functions = Vec::new();
    if names.is_empty() {
        return Ok(functions);
    }
    let integrations = Integrations::new(context.options, context.environment);
    for name in names {
        let own = tools_of(&integrations, Arc::new(context.options.switches()), name).await;
        ensure!(
            !own.is_empty(),
            "no function of an integration '{}' can be called; see `tiller integrations status`",
            agent::one_line(name)
        );
        functions.extend(own);
    }
    Ok(functions)
}

/// The gateway's name of a function: `PROVIDER__FUNCTION`.
fn served_name(function: &str) -> &str {
    function.strip_prefix("integration__").unwrap_or(function)
}

/// The gateway's state.
struct GatewayState {
    upstreams: Upstreams,
    functions: Vec<Arc<dyn AnyTool>>,
    outside: DirectCaller,
    /// Whether tools that may change something are served.
    write: bool,
}

impl GatewayState {
    /// Returns why a tool is not served; `None` if it is.
    async fn refused(&self, function: &str, read_only: bool) -> Option<String> {
        if !self.write && !read_only {
            return Some(format!("'{function}' may change something: write access is denied (--write)"));
        }
        let named = NamedTool { function: function.to_owned(), read_only };
        match self.outside.check_call(&named, &named).await {
            Err(Refusal::Denied(reason)) => Some(reason),
            _ => None,
        }
    }

    /// Returns the servers whose resources may be read.
    async fn with_resources(&self) -> Vec<Upstream> {
        let mut servers = Vec::new();
        for server in self.upstreams.with_capability("resources").await {
            if self.refused(&tool_name(server.name(), "read_resource"), true).await.is_none() {
                servers.push(server);
            }
        }
        servers
    }

    async fn upstream_tools(&self) -> Vec<(UpstreamTool, Option<String>)> {
        let tools = self.upstreams.tools().await;
        let rule = async |tool: UpstreamTool| {
            let refused = self.refused(tool.function(), tool.is_read_only()).await;
            (tool, refused)
        };
        join_all(tools.into_iter().map(rule)).await
    }
}

#[async_trait]
impl Gateway for GatewayState {
    async fn tools(&self) -> Vec<Value> {
        let mut listed = Vec::new();
        for (tool, refused) in self.upstream_tools().await {
            if refused.is_none() {
                listed.push(tool.listed());
            }
        }
        for tool in &self.functions {
            let read_only = tool.effect() == Effect::Reads;
            if self.refused(&tool.name(), read_only).await.is_none() {
                let ToolSpec { name, description, parameters } = tool.spec();
                let annotations = json!({ "readOnlyHint": read_only });
                listed.push(json!({
                    "name": served_name(&name), "description": description, "inputSchema": parameters, "annotations": annotations,
                }));
            }
        }
        listed
    }

    async fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, CallError> {
        for (tool, refused) in self.upstream_tools().await {
            if tool.name() == name {
                return match refused {
                    Some(reason) => Err(CallError::Failed(reason)),
                    None => tool.call(arguments).await,
                };
            }
        }
        let function = self.functions.iter().find(|tool| served_name(&tool.name()) == name);
        let function = function.ok_or_else(|| CallError::Unknown(agent::one_line(name)))?;
        if let Some(reason) = self.refused(&function.name(), function.effect() == Effect::Reads).await {
            return Err(CallError::Failed(reason));
        }
        let output = self.outside.call(function.as_ref(), Value::Object(arguments)).await;
        output.map(result).map_err(|refusal| CallError::Failed(refusal.to_string()))
    }

    async fn resources(&self) -> Vec<Value> {
        let servers = self.with_resources().await;
        all(join_all(servers.iter().map(Upstream::resources)).await)
    }

    async fn templates(&self) -> Vec<Value> {
        let servers = self.with_resources().await;
        all(join_all(servers.iter().map(Upstream::templates)).await)
    }

    async fn read(&self, uri: &str) -> Result<Value, CallError> {
        let unknown = || CallError::Unknown(agent::one_line(uri));
        let (name, uri) = split_gateway_uri(uri).ok_or_else(unknown)?;
        let server = self.with_resources().await.into_iter().find(|server| server.name() == name);
        server.ok_or_else(unknown)?.read(uri).await
    }

    async fn prompts(&self) -> Vec<Value> {
        let servers = self.upstreams.with_capability("prompts").await;
        let lists = join_all(servers.iter().map(Upstream::prompts)).await;
        let mut listed = Vec::new();
        for (server, list) in servers.iter().zip(lists) {
            for (name, prompt) in all([list]) {
                if self.refused(&tool_name(server.name(), &name), true).await.is_none() {
                    listed.push(prompt);
                }
            }
        }
        listed
    }

    async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, CallError> {
        let unknown = || CallError::Unknown(agent::one_line(name));
        let (server, prompt) = name.split_once("__").ok_or_else(unknown)?;
        let servers = self.upstreams.with_capability("prompts").await;
        let found = servers.into_iter().find(|known| known.name() == server).ok_or_else(unknown)?;
        match self.refused(&tool_name(server, prompt), true).await {
            Some(reason) => Err(CallError::Failed(reason)),
            None => found.prompt(prompt, arguments).await,
        }
    }
}

/// Concatenates the lists of the servers that answered; errors are logged.
fn all<T>(lists: impl IntoIterator<Item = Result<Vec<T>, CallError>>) -> Vec<T> {
    let answered =
        lists.into_iter().filter_map(|list| list.inspect_err(|why| tracing::warn!("left out: {why}")).ok());
    answered.flatten().collect()
}

/// Converts a function's output into the protocol's result.
fn result(output: ToolOutput) -> Value {
    let mut content = vec![json!({ "type": "text", "text": output.result.text })];
    content.extend(output.result.images.into_iter().filter_map(|image| match image {
        Content::Image { mime_type, data } => {
            Some(json!({ "type": "image", "mimeType": mime_type, "data": data }))
        }
        _ => None,
    }));
    json!({ "content": content, "isError": output.result.is_error })
}

/// A tool with only a name, to ask the policy about it.
#[derive(Clone)]
struct NamedTool {
    function: String,
    read_only: bool,
}

impl AnyTool for NamedTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.function.clone(), description: String::new(), parameters: json!({}) }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.function)
    }

    fn effect(&self) -> Effect {
        if self.read_only { Effect::Reads } else { Effect::Writes }
    }

    fn parse(&self, _arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl AnyCall for NamedTool {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        Description { title: self.function.clone(), kind: ToolKind::Other, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: self.function.clone(), read_only: self.read_only }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Err(ToolError::message("It is only a name."))
    }
}
