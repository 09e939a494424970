//! A session as its rows, for copies between databases.

use agent::{Owner, StoreError};
use blake3::{Hash, Hasher};

/// The number and the digest of a session's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) count: u64,
    /// BLAKE3 over number, format, kind and body of each event.
    pub(crate) hash: Hash,
}

/// A session with all that is stored of it, except its lease and its search index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawSession {
    pub(crate) row: RawRow,
    pub(crate) events: Vec<RawEvent>,
    /// The contents of files, the oldest first.
    pub(crate) contents: Vec<RawContent>,
}

/// The row of a session. The texts are those of the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawRow {
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) owner: Option<Owner>,
    pub(crate) directories: RawDirectories,
    pub(crate) controls: RawControls,
    pub(crate) title: Option<String>,
    pub(crate) archived: bool,
    pub(crate) times: (i64, i64),
    pub(crate) last_seq: i64,
    pub(crate) totals: (i64, Option<i64>),
}

/// Where a session works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawDirectories {
    pub(crate) cwd: String,
    /// A JSON array of paths.
    pub(crate) additional: String,
    pub(crate) branch: Option<String>,
    /// By what the directory is recognized after a move, as JSON.
    pub(crate) identity: Option<String>,
}

/// What was chosen for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawControls {
    pub(crate) model: String,
    pub(crate) mode: String,
    pub(crate) permission_mode: String,
    pub(crate) effort: Option<String>,
}

/// The row of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawEvent {
    pub(crate) seq: i64,
    pub(crate) format: i64,
    pub(crate) kind: String,
    pub(crate) body: String,
    pub(crate) at: i64,
    pub(crate) damaged: Option<String>,
}

/// A content of a file, with its hash in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawContent {
    pub(crate) hash: String,
    pub(crate) bytes: Vec<u8>,
}

/// Collects the digest of a session event by event.
#[derive(Default)]
pub(crate) struct Digesting {
    count: u64,
    hasher: Hasher,
}

impl Digesting {
    pub(crate) fn add(&mut self, event: &RawEvent) {
        self.count += 1;
        self.hasher.update(&event.seq.to_le_bytes());
        self.hasher.update(&event.format.to_le_bytes());
        for text in [&event.kind, &event.body] {
            // The length keeps the texts apart.
            self.hasher.update(&(text.len() as u64).to_le_bytes());
            self.hasher.update(text.as_bytes());
        }
    }

    pub(crate) fn end(self) -> Digest {
        Digest { count: self.count, hash: self.hasher.finalize() }
    }
}

impl RawSession {
    pub(crate) fn digest(&self) -> Digest {
        let mut digesting = Digesting::default();
        self.events.iter().for_each(|event| digesting.add(event));
        digesting.end()
    }

    /// Returns what is wrong with the rows, in words.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (expected, event) in (1..).zip(&self.events) {
            if event.seq != expected {
                problems.push(format!("event {expected} is missing"));
                break;
            }
            match crate::stored::decode(event.format, &event.body) {
                Ok(_) => {}
                Err(_) if event.damaged.is_some() => {}
                Err(crate::stored::Unreadable::Newer(format)) => {
                    problems.push(format!("event {expected} has format {format} of a newer program"));
                }
                Err(crate::stored::Unreadable::Damaged(what)) => {
                    problems.push(format!("event {expected} is damaged: {what}"));
                }
            }
        }
        if self.events.len() as i64 != self.row.last_seq {
            problems.push(format!(
                "it has {} events, and its row states {}",
                self.events.len(),
                self.row.last_seq
            ));
        }
        for content in &self.contents {
            if agent::ContentHash::of(&content.bytes).0 != content.hash {
                problems.push(format!("the content {} is damaged", content.hash));
            }
        }
        problems
    }
}

/// Returns the error for a row that cannot be read as it is.
pub(crate) fn unreadable(id: &str, what: &str) -> StoreError {
    StoreError::Format(format!("session {id} cannot be copied: {what}"))
}
