//! A server's tool as one of the agent's tools.

use crate::{content, limits::RESTART_WAIT, server::Server, tool_definition::ToolDefinition};
use agent::{
    Access, AnyCall, AnyTool, Content, Description, Effect, Redactor, ToolCallUpdate, ToolContent,
    ToolContext, ToolError, ToolKind, ToolOutput, ToolSpec,
};
use async_trait::async_trait;
use serde_json::Value;
use std::{borrow::Cow, sync::Arc};
use system::AbsPath;

/// A tool of a server that is kept running.
pub(crate) struct McpTool {
    pub(crate) server: Arc<Server>,
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) redactor: Redactor,
    /// Whether models see it without a search.
    pub(crate) offered: bool,
}

impl AnyTool for McpTool {
    fn spec(&self) -> ToolSpec {
        let ToolDefinition { function, description, schema, .. } = &*self.definition;
        let parameters = schema.parameters().clone();
        ToolSpec { name: function.clone(), description: description.clone(), parameters }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.definition.function)
    }

    fn effect(&self) -> Effect {
        if self.definition.read_only { Effect::Reads } else { Effect::Writes }
    }

    fn is_offered(&self) -> bool {
        self.offered
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        if !arguments.is_object() {
            let name = &self.definition.function;
            return Err(ToolError::message(format!(
                "Invalid arguments for '{name}': the arguments must be an object"
            )));
        }
        Ok(Box::new(Call {
            server: Arc::clone(&self.server),
            definition: Arc::clone(&self.definition),
            redactor: self.redactor.clone(),
            arguments,
        }))
    }
}

struct Call {
    server: Arc<Server>,
    definition: Arc<ToolDefinition>,
    redactor: Redactor,
    arguments: Value,
}

impl Call {
    async fn carry_out(&self, cx: &ToolContext) -> Result<ToolOutput, String> {
        let client = self.server.ready(RESTART_WAIT).await?;
        if !self.definition.reads_resources {
            let _guard = client.register_call(cx);
            let show = |text: String| {
                let mut update = ToolCallUpdate::of(cx.call.id.clone(), self.definition.function.clone());
                let text = self.redactor.redact(&text);
                update.display.content = Some(vec![ToolContent::Content(Content::text(text))]);
                (cx.call.progress)(update);
            };
            let result =
                client.call_with_progress(&self.definition.tool, self.arguments.clone(), &show).await?;
            return Ok(content::call_output(result));
        }
        if let Some(uri) = self.arguments["uri"].as_str() {
            return Ok(content::resource_output(client.read(uri).await?));
        }
        let lines = client.resources().await?.into_iter().map(|resource| {
            let about = resource.description.or(resource.title).unwrap_or_default();
            format!("{} ({}) {about}", resource.uri, resource.name).trim_end().to_owned()
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let text = if text.is_empty() { "There are no resources.".to_owned() } else { text };
        Ok(ToolOutput::text(text))
    }
}

#[async_trait]
impl AnyCall for Call {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let kind = if self.definition.read_only { ToolKind::Read } else { ToolKind::Other };
        let title = format!("{}: {}", self.server.config.name, self.definition.title);
        Description { title, kind, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        let ToolDefinition { function, read_only, .. } = &*self.definition;
        vec![Access::Call { function: function.clone(), read_only: *read_only }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        // Dropping the call sends a cancellation to the server.
        let result = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled(None)),
            result = self.carry_out(cx) => result,
        };
        match result {
            // A server knows the secrets that it was given, and may repeat them.
            Ok(output) => Ok(agent::tools::fit(cx, content::redacted(output, &self.redactor)).await),
            Err(why) => {
                let text = format!("MCP server '{}': {why}", self.server.config.name);
                Err(ToolError::message(self.redactor.redact(&text)))
            }
        }
    }
}
