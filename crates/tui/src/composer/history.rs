//! Earlier messages, those of this folder first.

use super::fragment::{Fragment, Part};
use super::token::Token;
use crate::limits::{HISTORY_ENTRIES, HISTORY_ENTRY_BYTES};
use serde::{Deserialize, Serialize};
use system::secrets_in;

/// An earlier message as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its parts.
    pub parts: Vec<EntryPart>,
}

/// A part of an earlier message. Images are not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryPart {
    /// Text.
    Text(String),
    /// A long pasted text.
    Paste(String),
    /// A mentioned file.
    File(String),
}

/// Earlier messages, the next one to be recalled last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    entries: Vec<Entry>,
    /// How many of the entries are of other folders; they come first.
    elsewhere: usize,
}

impl Entry {
    /// Returns what is kept of a message: `None` if it is empty, long, or contains what looks like
    /// a secret.
    pub(super) fn of(content: &Fragment) -> Option<Self> {
        let parts = content.parts().into_iter().filter_map(|part| match part {
            Part::Text(text) => Some(EntryPart::Text(text)),
            Part::Token(Token::Paste(text)) => Some(EntryPart::Paste(text.to_string())),
            Part::Token(Token::File(path)) => Some(EntryPart::File(path.to_string())),
            Part::Token(Token::Image(_)) => None,
        });
        let entry = Self { parts: parts.collect() };
        let text = entry.text();
        let kept = !text.trim().is_empty() && text.len() <= HISTORY_ENTRY_BYTES && !entry.has_secret();
        kept.then_some(entry)
    }

    /// Whether it contains what looks like a secret, in a line or over several.
    pub fn has_secret(&self) -> bool {
        let text = self.text();
        !secrets_in(&text).is_empty() || text.lines().any(|line| !secrets_in(line).is_empty())
    }

    /// Returns its text, with the contents of pasted texts.
    pub fn text(&self) -> String {
        let one = |part: &EntryPart| match part {
            EntryPart::Text(text) | EntryPart::Paste(text) => text.clone(),
            EntryPart::File(path) => format!("@{path}"),
        };
        self.parts.iter().map(one).collect()
    }

    /// Returns it as content of a draft.
    pub(super) fn content(&self) -> Fragment {
        Fragment::from_parts(self.parts.iter().map(|part| match part {
            EntryPart::Text(text) => Part::Text(text.clone()),
            EntryPart::Paste(text) => Part::Token(Token::Paste(text.as_str().into())),
            EntryPart::File(path) => Part::Token(Token::File(path.as_str().into())),
        }))
    }
}

impl History {
    /// Creates a history from stored messages, the oldest first; each says whether it was written
    /// in this folder.
    pub fn new(stored: impl IntoIterator<Item = (Entry, bool)>) -> Self {
        let (here, elsewhere): (Vec<_>, Vec<_>) = stored.into_iter().partition(|(_, here)| *here);
        let mut history = Self { elsewhere: elsewhere.len(), ..Self::default() };
        history.entries = elsewhere.into_iter().chain(here).map(|(entry, _)| entry).collect();
        history.shorten();
        history
    }

    /// Adds a message of this folder; an equal one of this folder moves to the end.
    pub(super) fn push(&mut self, entry: Entry) {
        let same = (self.elsewhere..self.entries.len()).find(|at| self.entries[*at] == entry);
        if let Some(at) = same {
            self.entries.remove(at);
        }
        self.entries.push(entry);
        self.shorten();
    }

    /// Returns a message by how far back it is, from 0.
    pub(super) fn back(&self, back: usize) -> Option<&Entry> {
        self.entries.iter().rev().nth(back)
    }

    /// Returns how far back the messages are that contain a text, the next one to recall first.
    /// Capitals matter if the text has one.
    pub(super) fn find(&self, text: &str) -> Vec<usize> {
        let exact = text.chars().any(char::is_uppercase);
        let contains = |entry: &Entry| match exact {
            true => entry.text().contains(text),
            false => entry.text().to_lowercase().contains(&text.to_lowercase()),
        };
        let entries = self.entries.iter().rev().enumerate();
        entries.filter(|(_, entry)| !text.is_empty() && contains(entry)).map(|(back, _)| back).collect()
    }

    fn shorten(&mut self) {
        let many = self.entries.len().saturating_sub(HISTORY_ENTRIES);
        self.entries.drain(..many);
        self.elsewhere = self.elsewhere.saturating_sub(many);
    }
}
