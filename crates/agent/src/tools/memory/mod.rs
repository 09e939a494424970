//! The tools for memories.

mod forget;
mod save;
mod search;

pub(super) use forget::MemoryForget;
pub(super) use save::MemorySave;
pub(super) use search::MemorySearch;

use crate::{Memory, MemoryId, MemoryNote, memories::date};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

/// Deserializes the number of a memory: 3, "3" or "#3". Missing, `null` and blank are `None`.
fn memory_id<'de, D: Deserializer<'de>>(from: D) -> Result<Option<MemoryId>, D::Error> {
    let text = match Value::deserialize(from)? {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text,
        other => other.to_string(),
    };
    text.parse().map(Some).map_err(D::Error::custom)
}

/// Describes a memory in full: its number, title, type, class and date, then its text.
fn full(memory: &Memory) -> String {
    let MemoryNote { kind, class, title, content, pinned } = &memory.note;
    let pinned = if *pinned { ", pinned" } else { "" };
    let end = memory.times.expires_at.map(|end| format!(", expires {}", date(end))).unwrap_or_default();
    let changed = date(memory.times.updated_at);
    format!("{} {title} ({}/{}, {changed}{end}{pinned})\n{content}", memory.id, kind.id(), class.id())
}
