//! `memory_search`: finds memories, and messages of earlier sessions.

use crate::{
    Access, Description, Effect, MemoryQuery, Recall, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::{MEMORIES_FOUND, PAST_SESSIONS},
    text::sanitise::sanitise,
    tools::{args, output, recall, sessions},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Finds memories.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct MemorySearch {
    #[serde(default, deserialize_with = "args::optional")]
    query: Option<String>,
    #[serde(default, rename = "type", deserialize_with = "args::optional")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    class: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    scope: Option<String>,
}

#[async_trait]
impl Tool for MemorySearch {
    const NAME: &'static str = "memory_search";
    const DESCRIPTION: &'static str = "Finds memories of this project and the user. scope history finds messages of the project's earlier sessions, which session_read {session_id, offset} shows.";
    const EFFECT: Effect = Effect::Reads;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "type": {"type": "string", "enum": ["project", "user", "decision"]},
                "class": {"type": "string", "enum": ["durable", "working", "priority"]},
                "scope": {"type": "string", "enum": ["memories", "history", "both"]}
            }
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let title = match &self.query {
            Some(query) => format!("Search memories: {query}"),
            None => "List memories".to_owned(),
        };
        Description { title: recall::title(&title), kind: ToolKind::Read, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let recall = recall::recall(cx, Self::NAME)?;
        let text = match self.scope.as_deref().unwrap_or("memories") {
            "memories" => self.memories(recall).await?,
            "history" => self.history(recall).await?,
            "both" => {
                let (memories, history) = futures::try_join!(self.memories(recall), self.history(recall))?;
                format!("Memories:\n{memories}\n\nEarlier sessions:\n{history}")
            }
            other => {
                let text = format!("Invalid scope: '{other}'. Valid: memories, history, both");
                return Err(ToolError::message(text));
            }
        };
        let text = recall.redactor.redact(&sanitise(&text));
        Ok(ToolOutput::text(output::cap(text, &cx.limits)))
    }
}

impl MemorySearch {
    async fn memories(&self, recall: &Recall) -> Result<String, ToolError> {
        let query = MemoryQuery {
            kind: self.kind.as_deref().map(str::parse).transpose().map_err(ToolError::message)?,
            class: self.class.as_deref().map(str::parse).transpose().map_err(ToolError::message)?,
            text: self.query.clone().unwrap_or_default(),
            limit: MEMORIES_FOUND + 1,
            ..MemoryQuery::default()
        };
        let found = recall.memories()?.find(query).await?;
        if found.is_empty() {
            return Ok("No memories found.".to_owned());
        }
        let mut texts: Vec<_> = found.iter().take(MEMORIES_FOUND).map(super::full).collect();
        if found.len() > MEMORIES_FOUND {
            texts.push("There are more: narrow the search with further words.".to_owned());
        }
        Ok(texts.join("\n\n"))
    }

    async fn history(&self, recall: &Recall) -> Result<String, ToolError> {
        let query = self.query.as_deref().unwrap_or_default();
        sessions::found(recall, query, PAST_SESSIONS, false).await
    }
}
