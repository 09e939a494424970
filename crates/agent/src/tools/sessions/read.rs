//! `session_read`: shows a part of an earlier session.

use super::{accesses, entries, failed, line};
use crate::{
    Access, Description, Effect, Recall, SessionId, SessionRecord, StoreError, Tool, ToolContext, ToolError,
    ToolKind, ToolOutput,
    limits::{EVENTS_PAGE, PAST_ENTRIES, PAST_ENTRIES_MAX, SESSION_ID_CHARS},
    text::sanitise::sanitise,
    tools::{args, output, recall},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Shows a part of an earlier session.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct SessionRead {
    session_id: String,
    #[serde(default, deserialize_with = "args::count")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "args::count")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "args::flag")]
    all_projects: bool,
}

/// How many ids an error about an ambiguous one lists.
const IDS_SHOWN: usize = 5;
/// How many sessions whose ids begin alike are compared.
const SESSIONS_COMPARED: usize = 100;

#[async_trait]
impl Tool for SessionRead {
    const NAME: &'static str = "session_read";
    const DESCRIPTION: &'static str = "Shows the messages and calls of an earlier session of this project. session_search gives its id and the numbers of events.";
    const EFFECT: Effect = Effect::Reads;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "session_id": {"type": "string", "description": "The id, or at least its first 8 characters"},
                "limit": {"type": "integer", "maximum": PAST_ENTRIES_MAX, "description": "Entries to show; 50 if left out"},
                "offset": {"type": "integer", "description": "The number of the event to begin with"},
                "all_projects": {"type": "boolean", "description": "Read a session of another project; needs the user's approval"}
            },
            "required": ["session_id"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let title = format!("Read session {}", self.session_id);
        Description { title: recall::title(&title), kind: ToolKind::Read, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        accesses(Self::NAME, self.all_projects)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let recall = recall::recall(cx, Self::NAME)?;
        let record = self.session(recall).await?;
        let text = format!("{}\n\n{}", line(&record, true), self.entries(recall, &record.id).await?);
        Ok(ToolOutput::text(output::cap(recall.redactor.redact(&sanitise(&text)), &cx.limits)))
    }
}

impl SessionRead {
    /// Returns the session that is meant, among those that the call may read.
    async fn session(&self, recall: &Recall) -> Result<SessionRecord, ToolError> {
        let given = self.session_id.trim();
        if given.chars().count() < SESSION_ID_CHARS {
            let least = format!("session_id needs at least {SESSION_ID_CHARS} characters of the id.");
            return Err(ToolError::message(least));
        }
        let ids = recall.sessions.ids_with_prefix(None, given, SESSIONS_COMPARED).await;
        let mut records = Vec::new();
        for id in ids.map_err(|error| failed(&error))? {
            match recall.sessions.get(&id).await {
                Ok(record) if self.all_projects || recall.is_in_project(&record.cwd) => {
                    records.push(record);
                }
                // It was deleted meanwhile.
                Ok(_) | Err(StoreError::NotFound(_)) => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        if let Some(whole) = records.iter().position(|record| record.id.as_str() == given) {
            return Ok(records.swap_remove(whole));
        }
        match records.len() {
            0 => Err(ToolError::message(self.not_found(given))),
            1 => Ok(records.swap_remove(0)),
            several => {
                let ids: Vec<_> = records.iter().take(IDS_SHOWN).map(|record| record.id.as_str()).collect();
                Err(ToolError::message(format!(
                    "{several} sessions begin with '{given}': {}. Write more of the id.",
                    ids.join(", ")
                )))
            }
        }
    }

    fn not_found(&self, given: &str) -> String {
        let how = match self.all_projects {
            true => "Use session_search to see the ids.",
            false => "Use session_search to see the ids, or pass all_projects; the user is asked then.",
        };
        format!("Session '{given}' not found. {how}")
    }

    /// Returns the entries from the offset on, and how to read on.
    async fn entries(&self, recall: &Recall, id: &SessionId) -> Result<String, ToolError> {
        let limit = self.limit.map_or(PAST_ENTRIES, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let limit = limit.clamp(1, PAST_ENTRIES_MAX);
        let mut after = self.offset.unwrap_or_default().saturating_sub(1);
        let mut texts = Vec::new();
        loop {
            let page =
                recall.sessions.events(id, after, EVENTS_PAGE).await.map_err(|error| failed(&error))?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            for (number, event) in &page {
                let Some(entry) = entries::entry(event) else { continue };
                if texts.len() == limit {
                    texts.push(format!("There is more: continue with offset {number}."));
                    return Ok(texts.join("\n"));
                }
                texts.push(format!("[{number}] {entry}"));
            }
        }
        match (texts.is_empty(), self.offset) {
            (false, _) => Ok(texts.join("\n")),
            (true, Some(offset)) => Ok(format!("No entries from event {offset} on.")),
            (true, None) => Ok("The session has no entries.".to_owned()),
        }
    }
}
