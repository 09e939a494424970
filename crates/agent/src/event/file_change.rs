//! Changes of files, and rewinds of them.

use crate::limits::CHECKPOINT_FILE_BYTES;
use std::{str::FromStr, sync::Arc};
use system::AbsPath;

/// The hash of a file's content, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub String);

/// A file's content at one time.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The hash of the content.
    pub hash: ContentHash,
    /// Its size in bytes.
    pub size: u64,
    /// The content itself, on its way to the store; `None` if the snapshot was read from the store
    /// (see [`crate::SessionStore::content`]) or the content is too large to be kept.
    pub bytes: Option<Arc<[u8]>>,
}

/// A change of a file by a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: AbsPath,
    /// The path with links resolved at that time. If it resolves differently now, the file is not
    /// restored.
    pub real: AbsPath,
    /// The content before; `None` if the file did not exist.
    pub before: Option<Snapshot>,
    /// The content after; `None` if the file was removed.
    pub after: Option<Snapshot>,
    /// The id of the subagent that changed it; `None` for a change of the session itself.
    pub agent: Option<String>,
}

/// A rewind: changes that were undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewound {
    /// The turn to which files were rewound; `None` for a redo, which undoes the last rewind that
    /// is still in effect.
    pub to: Option<u64>,
    /// The changes that the rewind itself made to files.
    pub files: Vec<FileChange>,
}

impl ContentHash {
    /// Computes the hash of a content.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }
}

impl Snapshot {
    /// Creates a snapshot of a content; if it is too large, only its hash and size are kept.
    pub fn of(bytes: &[u8]) -> Self {
        let kept = bytes.len() <= CHECKPOINT_FILE_BYTES;
        Self { hash: ContentHash::of(bytes), size: bytes.len() as u64, bytes: kept.then(|| Arc::from(bytes)) }
    }
}

/// Snapshots of the same content are equal, whether they carry the bytes or not.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        (&self.hash, self.size) == (&other.hash, other.size)
    }
}

impl Eq for Snapshot {}

impl FileChange {
    /// Returns its snapshots: before and after, as far as they exist.
    pub fn snapshots_mut(&mut self) -> impl Iterator<Item = &mut Snapshot> {
        self.before.iter_mut().chain(&mut self.after)
    }
}

impl Rewound {
    /// Returns a note for the model about the rewind; `None` if no file changed.
    pub(crate) fn note(&self) -> Option<String> {
        let names: Vec<&str> = self.files.iter().map(|change| change.path.as_str()).collect();
        let how = match self.to {
            Some(turn) => format!("undid the changes of files after turn {turn}"),
            None => "undid the last rewind of files".to_owned(),
        };
        (!names.is_empty()).then(|| {
            format!("[The user {how}. These files are not as you last saw them: {}]", names.join(", "))
        })
    }
}

/// The target of a rewind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindTarget {
    /// The files as they were at the end of the turn with this number; 0 is before the first.
    Turn(u64),
    /// The files as they were before the last rewind.
    Redo,
}

impl FromStr for RewindTarget {
    type Err = String;

    /// Parses `3`, `run_3` or `redo`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "redo" => Ok(Self::Redo),
            turn => turn
                .strip_prefix("run_")
                .unwrap_or(turn)
                .parse()
                .map(Self::Turn)
                .map_err(|_| format!("{text:?} is not a turn; pass a turn's number, or `redo`")),
        }
    }
}
