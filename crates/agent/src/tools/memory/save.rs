//! `memory_save`: stores a memory, or changes one.

use super::memory_id;
use crate::{
    Access, Content, Description, Effect, MemoryAuthor, MemoryDraft, MemoryId, Tool, ToolContent,
    ToolContext, ToolError, ToolKind, ToolOutput,
    limits::MEMORY_DAYS_MAX,
    tools::{args, recall},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Stores a memory.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct MemorySave {
    #[serde(default, rename = "type", deserialize_with = "args::optional")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    title: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    content: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    class: Option<String>,
    #[serde(default)]
    pinned: Option<Value>,
    #[serde(default, deserialize_with = "args::count")]
    expires_days: Option<u64>,
    #[serde(default, deserialize_with = "memory_id")]
    id: Option<MemoryId>,
}

#[async_trait]
impl Tool for MemorySave {
    const NAME: &'static str = "memory_save";
    const DESCRIPTION: &'static str = "Saves for later sessions what the user wants remembered or a decision and its reason; with `id`, changes a memory. Type user holds in every project. No secrets, nothing that the project documents itself.";
    const EFFECT: Effect = Effect::Writes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["project", "user", "decision"]},
                "title": {"type": "string"},
                "content": {"type": "string"},
                "class": {"type": "string", "enum": ["durable", "working", "priority"]},
                "pinned": {"type": "boolean"},
                "expires_days": {"type": "integer"},
                "id": {"type": "integer"}
            }
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let whose = if self.kind.as_deref() == Some("user") { " for every project" } else { "" };
        let title = self.title.as_deref().unwrap_or_default();
        let title = match self.id {
            Some(id) => format!("Update memory {id}{whose}: {title}"),
            None => format!("Save memory{whose}: {title}"),
        };
        Description { title: recall::title(&title), kind: ToolKind::Edit, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: Self::NAME.to_owned(), read_only: false }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        let text = [&self.title, &self.content].into_iter().flatten().cloned().collect::<Vec<_>>();
        Ok(vec![ToolContent::Content(Content::text(text.join("\n\n")))])
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let memories = recall::recall(cx, Self::NAME)?.memories()?;
        let memory = memories.save(self.draft()?, MemoryAuthor::Model).await?;
        let verb = if self.id.is_some() { "Updated" } else { "Saved" };
        Ok(ToolOutput::text(format!("{verb} memory {}", memory.headline())))
    }
}

impl MemorySave {
    fn draft(&self) -> Result<MemoryDraft, ToolError> {
        let days = self.expires_days.map(|days| match days {
            0..=MEMORY_DAYS_MAX => Ok(u32::try_from(days).unwrap_or(u32::MAX)),
            _ => {
                let most =
                    format!("expires_days is {days}, and the limit is {MEMORY_DAYS_MAX}; 0 means never.");
                Err(ToolError::message(most))
            }
        });
        let pinned = self.pinned.clone().filter(|pinned| !pinned.is_null()).map(args::flag);
        Ok(MemoryDraft {
            id: self.id,
            kind: self.kind.as_deref().map(str::parse).transpose().map_err(ToolError::message)?,
            class: self.class.as_deref().map(str::parse).transpose().map_err(ToolError::message)?,
            title: self.title.clone(),
            content: self.content.clone(),
            pinned: pinned.transpose().map_err(|error| ToolError::message(format!("pinned: {error}")))?,
            expires_days: days.transpose()?,
            renews: false,
        })
    }
}
