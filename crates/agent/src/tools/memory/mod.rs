//! The tools for memories.

mod forget;
mod save;
mod search;

pub(super) use forget::MemoryForget;
pub(super) use save::MemorySave;
pub(super) use search::MemorySearch;

use crate::{
    Memory, MemoryError, MemoryId, MemoryNote, Recall, ToolContext, ToolError, limits::TASK_TITLE_CHARS,
    memories::date, text::cut,
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

impl From<MemoryError> for ToolError {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::NotFound(_) => {
                Self::message(format!("{error} Use memory_search to see the numbers."))
            }
            _ => Self::message(error.to_string()),
        }
    }
}

/// Returns what the session can recall.
///
/// # Errors
///
/// Fails for a call outside a session.
pub(super) fn recall<'a>(cx: &'a ToolContext, tool: &str) -> Result<&'a Recall, ToolError> {
    let recall = cx.session.recall.as_ref();
    recall.ok_or_else(|| ToolError::message(format!("Tool '{tool}' works only in a session.")))
}

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

/// Cuts a call's title.
pub(super) fn title(text: &str) -> String {
    cut::cut(&crate::one_line(text), TASK_TITLE_CHARS).into_owned()
}

/// Describes a memory in full: its number, title, type, class and date, then its text.
fn full(memory: &Memory) -> String {
    let MemoryNote { kind, class, title, content, pinned } = &memory.note;
    let pinned = if *pinned { ", pinned" } else { "" };
    let end = memory.times.expires_at.map(|end| format!(", expires {}", date(end))).unwrap_or_default();
    let changed = date(memory.times.updated_at);
    format!("{} {title} ({}/{}, {changed}{end}{pinned})\n{content}", memory.id, kind.id(), class.id())
}
