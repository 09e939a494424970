//! `session_search`: finds messages of earlier sessions, or lists the latest sessions.

use super::{accesses, failed, line};
use crate::{
    Access, Archived, Description, Effect, ListQuery, Recall, SearchQuery, Tool, ToolContext, ToolError,
    ToolKind, ToolOutput,
    limits::PAST_SESSIONS,
    text::sanitise::sanitise,
    tools::{args, output, recall},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Finds messages of earlier sessions.
#[derive(Debug, serde::Deserialize)]
pub(in crate::tools) struct SessionSearch {
    #[serde(default, deserialize_with = "args::optional")]
    query: Option<String>,
    #[serde(default, deserialize_with = "args::count")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "args::flag")]
    all_projects: bool,
}

#[async_trait]
impl Tool for SessionSearch {
    const NAME: &'static str = "session_search";
    const DESCRIPTION: &'static str = "Finds messages of earlier sessions of this project that contain all words; without a query, lists the latest sessions. session_read shows one.";
    const EFFECT: Effect = Effect::Reads;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer", "maximum": PAST_SESSIONS},
                "all_projects": {"type": "boolean", "description": "Needs the user's approval"}
            }
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let of = if self.all_projects { "sessions of all projects" } else { "earlier sessions" };
        let title = match &self.query {
            Some(query) => format!("Search {of}: {query}"),
            None => format!("List {of}"),
        };
        Description { title: recall::title(&title), kind: ToolKind::Search, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        accesses(Self::NAME, self.all_projects)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let recall = recall::recall(cx, Self::NAME)?;
        let limit = self.limit.map_or(PAST_SESSIONS, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let query = self.query.as_deref().unwrap_or_default();
        let text = found(recall, query, limit.clamp(1, PAST_SESSIONS), self.all_projects).await?;
        Ok(ToolOutput::text(output::cap(recall.redactor.redact(&sanitise(&text)), &cx.limits)))
    }
}

/// Returns the messages that contain all words, each with its session, or the latest sessions if
/// there is no word. The session itself is left out.
pub(in crate::tools) async fn found(
    recall: &Recall,
    query: &str,
    limit: usize,
    all_projects: bool,
) -> Result<String, ToolError> {
    let (cwd, project) = bounds(recall, all_projects);
    if crate::words(query).is_empty() {
        return latest(recall, limit, all_projects).await;
    }
    let text = query.to_owned();
    let except = Some(recall.session.clone());
    let query = SearchQuery { owner: None, text, cwd, project, except, limit };
    let hits = recall.sessions.search(query).await.map_err(|error| failed(&error))?;
    let texts: Vec<_> = hits
        .iter()
        .map(|hit| {
            let excerpt = crate::label(&hit.excerpt, usize::MAX);
            format!("{}\n  event {}: {excerpt}", line(&hit.session, all_projects), hit.seq)
        })
        .collect();
    Ok(or_none(texts))
}

/// Returns the directory of the sessions that are searched, or the root of their repository;
/// neither if all are.
fn bounds(recall: &Recall, all_projects: bool) -> (Option<AbsPath>, Option<AbsPath>) {
    match &recall.repository {
        _ if all_projects => (None, None),
        Some(root) => (None, Some(root.clone())),
        None => (Some(recall.directory.clone()), None),
    }
}

async fn latest(recall: &Recall, limit: usize, all_projects: bool) -> Result<String, ToolError> {
    let (cwd, project) = bounds(recall, all_projects);
    // One more, because the session itself is usually among them; only those with a prompt.
    let query = ListQuery {
        cwd,
        project,
        archived: Archived::Include,
        begun_or: Some(Vec::new()),
        limit: limit + 1,
        ..ListQuery::default()
    };
    let page = recall.sessions.list(query).await.map_err(|error| failed(&error))?;
    let others = page.sessions.iter().filter(|record| record.id != recall.session).take(limit);
    Ok(or_none(others.map(|record| line(record, all_projects)).collect()))
}

fn or_none(texts: Vec<String>) -> String {
    if texts.is_empty() { "No sessions found.".to_owned() } else { texts.join("\n") }
}
