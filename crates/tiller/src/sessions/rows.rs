//! Sessions and messages that were found, for programs.

use crate::{answer::rfc3339, args::ExportFormat};
use agent::{Cost, SearchHit, SessionId, SessionRecord};
use schemars::JsonSchema;
use serde::Serialize;

/// A session in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SessionRow {
    /// The id of the session.
    session_id: String,
    /// Its directory.
    cwd: String,
    /// Its title, once it has one.
    title: Option<String>,
    /// The model, as PROVIDER/NAME.
    model: String,
    /// The agent mode: edit, plan or ask.
    mode: &'static str,
    /// The permission mode.
    permission_mode: &'static str,
    /// When it was created, as RFC 3339.
    created_at: String,
    /// When it last changed, as RFC 3339.
    updated_at: String,
    /// What git had checked out when it was last used: a branch, or the beginning of a commit in
    /// parentheses; null if nothing or not known.
    branch: Option<String>,
    /// The turns it has begun.
    turns: u64,
    /// The cost of its tokens and those of its subagents in US dollars, as far as their price is
    /// known; null if no price is.
    cost_usd: Option<f64>,
    /// Whether it is archived.
    archived: bool,
}

impl SessionRow {
    pub(super) fn of(record: &SessionRecord) -> Self {
        Self {
            session_id: record.id.to_string(),
            cwd: record.cwd.to_string(),
            title: record.title.clone(),
            model: record.controls.model.clone(),
            mode: record.controls.mode.id(),
            permission_mode: record.controls.permission_mode.id(),
            created_at: rfc3339(record.times.created_at),
            updated_at: rfc3339(record.times.updated_at),
            branch: record.branch.clone(),
            turns: record.totals.turns,
            cost_usd: record.totals.cost.map(Cost::dollars),
            archived: record.listing.archived,
        }
    }
}

/// A message or a title that was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct HitRow {
    /// The id of its session.
    session_id: String,
    /// The title of the session.
    title: Option<String>,
    /// The directory of the session.
    cwd: String,
    /// When the session last changed, as RFC 3339.
    updated_at: String,
    /// The number of the event that has the text.
    event: u64,
    /// The text around the words.
    excerpt: String,
}

impl HitRow {
    pub(super) fn of(hit: &SearchHit) -> Self {
        Self {
            session_id: hit.session.id.to_string(),
            title: hit.session.title.clone(),
            cwd: hit.session.cwd.to_string(),
            updated_at: rfc3339(hit.session.times.updated_at),
            event: hit.seq,
            excerpt: hit.excerpt.clone(),
        }
    }
}

/// What was changed of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionChange {
    /// The id of the session.
    id: String,
    /// What it is now: archived, unarchived, deleted, renamed, imported or forked.
    done: &'static str,
    /// Its new title, if it was renamed or forked.
    title: Option<String>,
}

impl SessionChange {
    pub(super) fn new(id: &SessionId, done: &'static str, title: Option<String>) -> Self {
        Self { id: id.to_string(), done, title }
    }
}

/// An exported session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Exported {
    /// The id of the session.
    id: String,
    /// The format.
    format: ExportFormat,
    /// The text that the command prints without `--json`.
    content: String,
}

impl Exported {
    pub(super) fn new(id: &SessionId, format: ExportFormat, content: &[u8]) -> Self {
        Self { id: id.to_string(), format, content: String::from_utf8_lossy(content).into_owned() }
    }
}
