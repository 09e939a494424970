//! Requests for a server's resources and prompts from outside the model. They need the same
//! permission as a call of a read-only tool.

use crate::{connection::Client, names::tool_name};
use agent::{
    Access, AnyCall, AnyTool, Description, Effect, Redactor, ToolContent, ToolContext, ToolError, ToolKind,
    ToolOutput, ToolSpec,
};
use async_trait::async_trait;
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use std::{borrow::Cow, sync::Arc};
use system::AbsPath;

/// A request to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectQuery {
    /// Lists resources.
    Resources,
    /// Reads a resource.
    Resource {
        /// Its URI.
        uri: String,
    },
    /// Lists prompts.
    Prompts,
    /// Fills in a prompt.
    Prompt {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: JsonObject,
    },
}

impl DirectQuery {
    /// Returns a tool that makes this request, and the arguments to show. The result is JSON in the
    /// shape of the protocol.
    pub fn tool(self, server: &str, client: Arc<Client>, redactor: Redactor) -> (Arc<dyn AnyTool>, Value) {
        let (function, arguments) = (self.function(server), self.arguments());
        (
            Arc::new(QueryCall { server: server.to_owned(), query: self, function, client, redactor }),
            arguments,
        )
    }

    fn arguments(&self) -> Value {
        match self {
            Self::Resources | Self::Prompts => json!({}),
            Self::Resource { uri } => json!({ "uri": uri }),
            Self::Prompt { arguments, .. } => json!(arguments),
        }
    }

    /// Returns the name for permission rules: a prompt's own command, and that of reading resources
    /// for everything else.
    fn function(&self, server: &str) -> String {
        match self {
            Self::Prompt { name, .. } => tool_name(server, name),
            Self::Resources | Self::Resource { .. } | Self::Prompts => tool_name(server, "read_resource"),
        }
    }

    async fn send(&self, client: &Client) -> Result<Value, String> {
        let what = match self {
            Self::Resources | Self::Resource { .. } => "resources",
            Self::Prompts | Self::Prompt { .. } => "prompts",
        };
        if !client.has(what) {
            return Err(format!("it has no {what}"));
        }
        Ok(match self {
            Self::Resources => json!(client.resources().await?),
            Self::Resource { uri } => json!(client.read(uri).await?),
            Self::Prompts => json!(client.prompts().await?),
            Self::Prompt { name, arguments } => json!(client.prompt(name, arguments.clone()).await?),
        })
    }
}

/// An inquiry as a tool and as its call.
#[derive(Clone)]
struct QueryCall {
    server: String,
    query: DirectQuery,
    function: String,
    client: Arc<Client>,
    redactor: Redactor,
}

impl AnyTool for QueryCall {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({ "type": "object", "properties": {} });
        ToolSpec { name: self.function.clone(), description: String::new(), parameters }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.function)
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn parse(&self, _arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl AnyCall for QueryCall {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let what = match &self.query {
            DirectQuery::Resources => "List resources".to_owned(),
            DirectQuery::Resource { uri } => format!("Read {uri}"),
            DirectQuery::Prompts => "List prompts".to_owned(),
            DirectQuery::Prompt { name, .. } => format!("Fill in the prompt {name}"),
        };
        let title = agent::one_line(&format!("{}: {what}", self.server));
        Description { title, kind: ToolKind::Read, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: self.function.clone(), read_only: true }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let response = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled(None)),
            response = self.query.send(&self.client) => response,
        };
        match response {
            Ok(value) => {
                let text = self.redactor.redact_value(value).to_string();
                Ok(ToolOutput::text(agent::tools::within(cx, text).await))
            }
            Err(why) => {
                let text = format!("MCP server '{}': {why}", self.server);
                Err(ToolError::message(self.redactor.redact(&text)))
            }
        }
    }
}
