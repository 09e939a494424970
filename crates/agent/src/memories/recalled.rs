//! The memories that a new session is sent with its first prompt.

use super::{MemoryError, ProjectMemories};
use crate::{
    Memory, MemoryClass, MemoryId, MemoryQuery, MemoryScope,
    limits::{
        MEMORIES_CONSIDERED, MEMORIES_RECALLED, MEMORY_HIT_WEIGHT, MEMORY_HITS, MEMORY_RECALLED_BYTES,
        PROMPT_WORDS,
    },
    store::search::words,
    text::{cut::first_bytes, tag::within},
};
use std::collections::BTreeSet;

/// The heading and the explanation of the section.
const HEAD: &str =
    "# Memories\nNotes from earlier sessions, which may be out of date. memory_search finds more of them.\n";
/// The tag around the section, which no memory can close.
const TAG: &str = "memories";
/// The shortest word of a prompt that counts as a match: shorter ones are in every text.
const WORD_CHARS: usize = 4;

/// The memories for a session, and the text that the model receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledMemories {
    /// The section for the model.
    pub text: String,
    /// The memories in it, the most important first.
    pub ids: Vec<MemoryId>,
}

impl ProjectMemories {
    /// Returns what a new session of the project is sent with a prompt, in at most `bytes`; `None`
    /// if there is nothing. An untrusted project contributes nothing.
    ///
    /// # Errors
    ///
    /// Fails with the error of the store.
    pub async fn recall(&self, prompt: &str, bytes: usize) -> Result<Option<RecalledMemories>, MemoryError> {
        if !self.options.enabled {
            return Ok(None);
        }
        let scope = match self.options.trusted {
            true => self.scope(),
            false => MemoryScope::User,
        };
        let wanted = wanted(prompt);
        let query = MemoryQuery { scope, limit: MEMORIES_CONSIDERED, ..MemoryQuery::default() };
        let mut found = self.store.find(query.clone()).await?;
        // The others are too many to be compared with the prompt one by one.
        if found.len() == MEMORIES_CONSIDERED && !wanted.is_empty() {
            let text = wanted.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
            found.extend(self.store.find(MemoryQuery { text, any_word: true, ..query }).await?);
        }
        // The session has its own summary already.
        let is_own = |memory: &Memory| {
            self.session.is_some()
                && memory.session == self.session
                && memory.note.class == MemoryClass::Working
        };
        found.retain(|memory| !is_own(memory));
        found.sort_by_cached_key(|memory| {
            std::cmp::Reverse((score(memory, &wanted), memory.times.updated_at, memory.id))
        });
        found.dedup_by_key(|memory| memory.id);
        found.truncate(MEMORIES_RECALLED);
        Ok(section(&found, bytes))
    }
}

/// Returns the words of a prompt that memories are compared with.
fn wanted(prompt: &str) -> BTreeSet<String> {
    let words = words(prompt).into_iter().filter(|word| word.chars().count() >= WORD_CHARS);
    words.collect::<BTreeSet<_>>().into_iter().take(PROMPT_WORDS).collect()
}

/// Returns the importance of a memory for a prompt: its weight, and more for each word that it has
/// in common with the prompt.
fn score(memory: &Memory, wanted: &BTreeSet<String>) -> i64 {
    let has: BTreeSet<String> =
        words(&format!("{} {}", memory.note.title, memory.note.content)).into_iter().collect();
    let hits = wanted.intersection(&has).take(MEMORY_HITS).count();
    memory.weight() + MEMORY_HIT_WEIGHT * i64::try_from(hits).unwrap_or_default()
}

/// Returns the section with as many of the memories as fit, in their order.
fn section(memories: &[Memory], bytes: usize) -> Option<RecalledMemories> {
    let mut text = format!("<{TAG}>\n{HEAD}");
    let end = format!("</{TAG}>");
    let mut ids = Vec::new();
    for memory in memories {
        let entry = entry(memory);
        if text.len() + entry.len() + end.len() <= bytes {
            text.push_str(&entry);
            ids.push(memory.id);
        }
    }
    text.push_str(&end);
    (!ids.is_empty()).then_some(RecalledMemories { text, ids })
}

/// Returns a memory as an item of a list, with its number and the date of its last change.
fn entry(memory: &Memory) -> String {
    let shown = first_bytes(&memory.note.content, MEMORY_RECALLED_BYTES);
    // Indented, so that a line of the content cannot look like another memory.
    let mut content = within(TAG, shown).replace('\n', "\n  ");
    if shown.len() < memory.note.content.len() {
        content.push_str(" … (cut; memory_search shows all of it)");
    }
    let title = within(TAG, &memory.note.title);
    let (kind, class) = (memory.note.kind.id(), memory.note.class.id());
    format!("- {} {title} ({kind}/{class}, {}): {content}\n", memory.id, date(memory.times.updated_at))
}

/// Returns the date of a time in milliseconds since the epoch, in UTC.
pub(crate) fn date(milliseconds: i64) -> String {
    match jiff::Timestamp::from_millisecond(milliseconds) {
        Ok(time) => time.strftime("%Y-%m-%d").to_string(),
        Err(_) => "unknown".to_owned(),
    }
}
