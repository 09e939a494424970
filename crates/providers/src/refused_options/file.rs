//! The file in which refused options are kept for later processes.
//!
//! `{"version": 1, "models": [{"address", "model", "learned", …}]}`, where the other members of an
//! entry are those of [`ModelQuirks`]. An invalid file or entry counts as missing.

use super::ModelQuirks;
use crate::limits::{REFUSAL_AGE, REFUSALS_KEPT};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const VERSION: u64 = 1;

/// What one model at one address has refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The base URL, without credentials.
    pub(super) address: String,
    pub(super) model: String,
    /// When the first of its refusals was learned, in seconds since 1970. Later ones do not extend
    /// its age.
    pub(super) learned: i64,
    #[serde(flatten)]
    pub(super) quirks: ModelQuirks,
}

impl Entry {
    fn is_recent(&self, now: Timestamp) -> bool {
        let age = now.as_second().saturating_sub(self.learned);
        u64::try_from(age).is_ok_and(|age| age < REFUSAL_AGE.as_secs())
    }
}

/// Parses a file and returns its recent entries; `None` if a later version of the program wrote it.
pub(super) fn parse(bytes: &[u8], now: Timestamp) -> Option<Vec<Entry>> {
    let file: Value = serde_json::from_slice(bytes).unwrap_or_default();
    if file["version"].as_u64().is_some_and(|version| version > VERSION) {
        return None;
    }
    let entries = file["models"].as_array().into_iter().flatten();
    let entries = entries.filter_map(|entry| Entry::deserialize(entry).ok());
    Some(entries.filter(|entry| entry.is_recent(now)).collect())
}

/// Adds an entry in place of the one of the same model, whose age it keeps. Beyond the limit, the
/// oldest entries are dropped.
pub(super) fn add(entries: &mut Vec<Entry>, mut new: Entry) {
    let same = |entry: &Entry| entry.address == new.address && entry.model == new.model;
    if let Some(at) = entries.iter().position(same) {
        new.learned = entries.remove(at).learned;
    }
    entries.push(new);
    entries.sort_by_key(|entry| entry.learned);
    entries.drain(..entries.len().saturating_sub(REFUSALS_KEPT));
}

pub(super) fn render(entries: &[Entry]) -> Vec<u8> {
    format!("{:#}\n", json!({ "version": VERSION, "models": entries })).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000;
    const DAY: i64 = 24 * 60 * 60;

    fn now() -> Timestamp {
        Timestamp::from_second(NOW).unwrap()
    }

    fn entry(model: &str, learned: i64) -> Entry {
        let quirks = ModelQuirks { refused: ["/store".to_owned()].into(), ..ModelQuirks::default() };
        Entry { address: "https://h/v1".to_owned(), model: model.to_owned(), learned, quirks }
    }

    #[test]
    fn recent_entries_are_read_back_and_old_ones_ignored() {
        let recent = entry("recent", NOW - 29 * DAY);
        let all = [recent.clone(), entry("old", NOW - 30 * DAY), entry("future", NOW + DAY)];
        assert_eq!(parse(&render(&all), now()), Some(vec![recent]));
    }

    #[test]
    fn an_invalid_file_counts_as_empty_and_a_later_version_is_not_touched() {
        for invalid in
            ["", "{", "[]", r#"{"version":1,"models":7}"#, r#"{"version":1,"models":[{"model":1}]}"#]
        {
            assert_eq!(parse(invalid.as_bytes(), now()), Some(Vec::new()), "{invalid}");
        }
        assert_eq!(parse(br#"{"version":2,"models":[]}"#, now()), None);
    }

    #[test]
    fn entries_are_limited_and_keep_their_age() {
        let mut entries = Vec::new();
        for at in 0..=REFUSALS_KEPT {
            add(&mut entries, entry(&at.to_string(), NOW + at as i64));
        }
        assert_eq!((entries.len(), entries[0].model.as_str()), (REFUSALS_KEPT, "1"));
        add(&mut entries, entry("1", NOW + 10 * DAY));
        assert_eq!((entries.len(), entries[0].learned), (REFUSALS_KEPT, NOW + 1));
    }
}
