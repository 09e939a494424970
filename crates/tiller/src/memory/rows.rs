//! Memories as lines for people and as JSON.

use agent::{Memory, MemoryId, SessionId};
use serde_json::{Value, json};

/// Returns the JSON row of a memory.
pub(crate) fn as_json(memory: &Memory) -> Value {
    json!({
        "id": memory.id.0,
        "type": memory.note.kind.id(),
        "class": memory.note.class.id(),
        "title": memory.note.title,
        "content": memory.note.content,
        "pinned": memory.note.pinned,
        "project": memory.project.as_ref().map(|project| project.as_str()),
        "session_id": memory.session.as_ref().map(SessionId::as_str),
        "created_at": time(memory.times.created_at),
        "updated_at": time(memory.times.updated_at),
        "surfaced_at": memory.times.surfaced_at.map(time),
        "expires_at": memory.times.expires_at.map(time),
    })
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
pub(super) fn done(verb: &str, memory: &Memory) -> String {
    format!("{verb} memory {}", memory.headline())
}

/// Returns the error for an unknown number.
pub(super) fn unknown(id: MemoryId) -> anyhow::Error {
    anyhow::anyhow!("there is no memory {id}; `tiller memory list --all` shows the numbers")
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
