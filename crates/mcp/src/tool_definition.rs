//! The definition of a server's tool, as models see it.

use crate::{
    limits::{DESCRIPTION_BYTES, SCHEMA_BYTES},
    listed::{ListedTool, Schema},
    names::tool_name,
};
use serde_json::json;

/// The definition of a tool.
pub(crate) struct ToolDefinition {
    /// The name for models.
    pub(crate) function: String,
    /// The server's name for it.
    pub(crate) tool: String,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) schema: Schema,
    /// Whether the server declares it read-only. This is a hint: permission is asked as for any
    /// other tool.
    pub(crate) read_only: bool,
    /// The size of what models see of it.
    pub(crate) bytes: usize,
    /// Whether this is our own tool for reading the server's resources.
    pub(crate) reads_resources: bool,
}

impl ToolDefinition {
    pub(crate) fn new(server: &str, tool: ListedTool) -> Result<Self, String> {
        let read_only = tool.is_read_only();
        let ListedTool { name, title, description, annotations, schema } = tool;
        let size = schema.text().len();
        if size > SCHEMA_BYTES {
            return Err(format!("its schema is larger than {SCHEMA_BYTES} bytes"));
        }
        if let Some(problem) = schema.problem() {
            return Err(problem.to_owned());
        }
        let mut description = agent::sanitise(&description);
        if description.len() > DESCRIPTION_BYTES {
            description.truncate(agent::floor_char_boundary(&description, DESCRIPTION_BYTES));
            description.push_str(" […]");
        }
        let title = title.or_else(|| annotations.and_then(|hints| hints.title));
        let title = agent::one_line(&agent::sanitise(title.as_deref().unwrap_or(&name)));
        let function = tool_name(server, &name);
        let bytes = function.len() + description.len() + size;
        Ok(Self {
            function,
            tool: name,
            title: title.chars().take(80).collect(),
            description,
            schema,
            read_only,
            bytes,
            reads_resources: false,
        })
    }
}

/// Returns the tool that reads a server's resources.
pub(crate) fn read_resource(server: &str) -> ToolDefinition {
    ToolDefinition {
        function: tool_name(server, "read_resource"),
        tool: "read_resource".to_owned(),
        title: "Read a resource".to_owned(),
        description: format!(
            "Reads a resource of the MCP server '{server}' by its URI, or lists the resources when no URI is given."
        ),
        schema: Schema::new(json!({
            "type": "object",
            "properties": { "uri": { "type": "string", "description": "The resource's URI; leave it out for a list" } },
        })),
        read_only: true,
        bytes: 300,
        reads_resources: true,
    }
}
