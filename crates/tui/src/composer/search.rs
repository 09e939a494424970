//! The search of older messages.

use super::history::{Entry, History};
use crate::field::Field;
use crate::input::Key;

/// A search of older messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Search {
    query: Field,
    /// How far back the messages are that match, the next one to recall first.
    hits: Vec<usize>,
    /// The hit that is shown.
    at: usize,
}

impl Search {
    /// Returns what is searched for.
    pub(super) fn query(&self) -> &Field {
        &self.query
    }

    /// Takes a key of the query; returns whether it is one.
    pub(super) fn key(&mut self, key: Key, history: &History) -> bool {
        let taken = self.query.key(key);
        self.find(history);
        taken
    }

    /// Adds a text to the query.
    pub(super) fn insert(&mut self, text: &str, history: &History) {
        self.query.insert(text);
        self.find(history);
    }

    /// Goes to the next older or newer match, if there is one.
    pub(super) fn step(&mut self, older: bool) {
        let last = self.hits.len().saturating_sub(1);
        self.at = if older { (self.at + 1).min(last) } else { self.at.saturating_sub(1) };
    }

    /// Returns the match that is shown.
    pub(super) fn hit<'a>(&self, history: &'a History) -> Option<&'a Entry> {
        history.back(*self.hits.get(self.at)?)
    }

    /// Returns the state in words: `2 of 5`, `no match`.
    pub(super) fn state(&self) -> String {
        match self.hits.len() {
            0 if self.query.is_empty() => String::new(),
            0 => "no match".to_owned(),
            many => format!("{} of {many}", self.at + 1),
        }
    }

    fn find(&mut self, history: &History) {
        let before = self.hits.get(self.at).copied();
        self.hits = history.find(self.query.text());
        // The same message stays, if it still matches.
        self.at = self.hits.iter().position(|hit| Some(*hit) == before).unwrap_or(0);
    }
}
