//! `memory_forget`: deletes a memory.

use super::memory_id;
use crate::{
    Access, Description, Effect, MemoryAuthor, MemoryId, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    tools::recall,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Deletes a memory.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct MemoryForget {
    #[serde(default, deserialize_with = "memory_id")]
    id: Option<MemoryId>,
}

#[async_trait]
impl Tool for MemoryForget {
    const NAME: &'static str = "memory_forget";
    const DESCRIPTION: &'static str = "Deletes a memory that is wrong or out of date, by its number. To correct one, use memory_save with its id.";
    const EFFECT: Effect = Effect::Writes;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {"id": {"type": "integer", "description": "The number of the memory"}},
            "required": ["id"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let id = self.id.map(|id| id.to_string()).unwrap_or_default();
        Description { title: format!("Forget memory {id}"), kind: ToolKind::Edit, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: Self::NAME.to_owned(), read_only: false }]
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let id = self.id.ok_or_else(|| ToolError::message("id cannot be empty."))?;
        let memories = recall::recall(cx, Self::NAME)?.memories()?;
        let memory = memories.forget(id, MemoryAuthor::Model).await?;
        Ok(ToolOutput::text(format!("Forgot memory {}", memory.headline())))
    }
}
