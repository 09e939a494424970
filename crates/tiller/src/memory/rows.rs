//! Memories as lines for people and as JSON.

use crate::answer::{Failure, Kind};
use agent::{Memory, MemoryId, SessionId};
use schemars::JsonSchema;
use serde::Serialize;

/// A memory.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryRow {
    #[serde(flatten)]
    labels: Labels,
    /// What it says.
    content: String,
    /// Whether it is sent with every first prompt.
    pinned: bool,
    #[serde(flatten)]
    origin: Origin,
}

/// How a memory is called and sorted.
#[derive(Debug, Serialize, JsonSchema)]
struct Labels {
    /// Its number.
    id: u64,
    /// Its type, such as user, project or decision.
    r#type: &'static str,
    /// Its class, such as priority or durable.
    class: &'static str,
    /// Its title.
    title: String,
}

/// Where a memory comes from, and its times.
#[derive(Debug, Serialize, JsonSchema)]
struct Origin {
    /// The root of its project; null if it is for all.
    project: Option<String>,
    /// The id of the session that saved it.
    session_id: Option<String>,
    /// When it was saved, as RFC 3339.
    created_at: String,
    /// When it last changed, as RFC 3339.
    updated_at: String,
    /// When it was last sent to a model, as RFC 3339.
    surfaced_at: Option<String>,
    /// When it expires, as RFC 3339; null if never.
    expires_at: Option<String>,
}

impl MemoryRow {
    pub(crate) fn of(memory: &Memory) -> Self {
        let (note, times) = (&memory.note, &memory.times);
        Self {
            labels: Labels {
                id: memory.id.0,
                r#type: note.kind.id(),
                class: note.class.id(),
                title: note.title.clone(),
            },
            content: note.content.clone(),
            pinned: note.pinned,
            origin: Origin {
                project: memory.project.as_ref().map(ToString::to_string),
                session_id: memory.session.as_ref().map(ToString::to_string),
                created_at: time(times.created_at),
                updated_at: time(times.updated_at),
                surfaced_at: times.surfaced_at.map(time),
                expires_at: times.expires_at.map(time),
            },
        }
    }
}

/// What was done with memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryChanges {
    /// What was done: saved, updated, unchanged, pinned, unpinned or forgotten.
    pub(super) done: &'static str,
    /// The memories.
    pub(super) memories: Vec<MemoryRow>,
}

/// The result of an import.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Imported {
    /// The memories that were saved.
    pub(super) saved: Vec<MemoryRow>,
    /// The number of those that were there already.
    pub(super) known: usize,
}

/// What a new session is sent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Recalled {
    /// The text; null if it is sent no memories.
    pub(super) text: Option<String>,
}

/// Whether a project is trusted with memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryTrust {
    /// The root of the project.
    pub(super) project: String,
    /// Whether models may save memories there without asking.
    pub(super) trusted: bool,
}

/// Returns a memory in one line: its number, type, class, date and title.
pub(super) fn line(memory: &Memory, with_project: bool) -> String {
    let note = &memory.note;
    let pinned = if note.pinned { ", pinned" } else { "" };
    let end = memory.times.expires_at.map(|end| format!(", expires {}", day(end))).unwrap_or_default();
    let project = match (&memory.project, with_project) {
        (Some(project), true) => format!("  {project}"),
        _ => String::new(),
    };
    let (id, kind, class) = (memory.id.to_string(), note.kind.id(), note.class.id());
    format!("{id:<5} {kind}/{class}, {}{end}{pinned}  {}{project}", day(memory.times.updated_at), note.title)
}

/// Returns everything about a memory.
pub(super) fn full(memory: &Memory) -> String {
    let surfaced = memory.times.surfaced_at.map_or_else(|| "never".to_owned(), day);
    let session = memory.session.as_ref().map_or("none", SessionId::as_str);
    let project = memory.project.as_ref().map_or("all", |project| project.as_str());
    format!(
        "{}\nproject: {project}\nsession: {session}\nsent to a model: {surfaced}\n\n{}",
        line(memory, false),
        memory.note.content
    )
}

/// Returns the line that confirms a change.
pub(super) fn done(done: &str, memory: &Memory) -> String {
    let verb = match done {
        "saved" => "Saved",
        "updated" => "Updated",
        "pinned" => "Pinned",
        "unpinned" => "Unpinned",
        "forgotten" => "Forgot",
        other => other,
    };
    format!("{verb} memory {}", memory.headline())
}

/// Returns the error for an unknown number.
pub(super) fn unknown(id: MemoryId) -> anyhow::Error {
    let what = format!("there is no memory {id}; `tiller memory list --all` shows the numbers");
    Failure::new(Kind::NotFound, what).into()
}

/// Returns the day of a time in milliseconds since the epoch, in UTC.
pub(super) fn day(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds);
    time.map_or_else(|_| milliseconds.to_string(), |time| time.strftime("%Y-%m-%d").to_string())
}

fn time(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds);
    time.map_or_else(|_| milliseconds.to_string(), |time| time.to_string())
}
