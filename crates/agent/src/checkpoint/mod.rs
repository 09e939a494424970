//! What tools did to files, turn by turn, and how the user takes it back.
//!
//! Architecture Invariant: only files that a tool of this session wrote are ever restored, and only as far as nobody has changed the same lines
//! since. What commands did to files is not known and not touched.

mod merge;
mod recorder;
mod restore;
mod timeline;
mod undo;

pub use timeline::Checkpoint;

pub(crate) use recorder::Recorder;
pub(crate) use restore::restore;
pub(crate) use timeline::Timeline;

use crate::{StoreError, limits::CHECKPOINT_FILE_BYTES};
use std::{fmt, str::FromStr, sync::Arc};
use system::AbsPath;

/// The hash of a file's content, as hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub String);

/// A file's content at some time.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// What it is known by.
    pub hash: ContentHash,
    /// Bytes of it.
    pub size: u64,
    /// The content itself on its way to the store; `None` when it came from there ([`crate::SessionStore::content`]), or is too large to be kept.
    pub bytes: Option<Arc<[u8]>>,
}

/// What a tool made of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: AbsPath,
    /// Where the path led then. Where it leads elsewhere now, the file is not restored.
    pub real: AbsPath,
    /// Before; `None` when there was no such file.
    pub before: Option<Snapshot>,
    /// After; `None` when it was removed.
    pub after: Option<Snapshot>,
}

/// Changes that were taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewound {
    /// How far; `None` for a redo, which takes back the last rewind that was not taken back yet.
    pub to: Option<u64>,
    /// What that made of files.
    pub files: Vec<FileChange>,
}

/// How far changes are to be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindTarget {
    /// To how files were when the turn with this number had ended; 0 is before the first.
    Turn(u64),
    /// To how they were before the last rewind.
    Redo,
}

/// What came of a rewind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RewindReport {
    /// Files that are again as they were.
    pub restored: Vec<AbsPath>,
    /// Files that are again as they were but for what somebody else has changed in other lines since.
    pub merged: Vec<AbsPath>,
    /// Files that were left as they are, and why.
    pub left: Vec<(AbsPath, String)>,
}

/// Why nothing was taken back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewindError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A turn is running.
    #[error("a turn is running; wait for its end, or cancel it")]
    Busy,
    /// There is no such turn.
    #[error("there is no turn {turn}; the last one is {last}")]
    NoTurn {
        /// The turn asked for.
        turn: u64,
        /// The last there is.
        last: u64,
    },
    /// No rewind is left that could be taken back.
    #[error("there is no rewind to take back")]
    NothingToRedo,
    /// It was cancelled before anything was changed.
    #[error("cancelled; nothing was changed")]
    Cancelled,
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
}

impl ContentHash {
    /// The hash of a content.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }
}

impl Snapshot {
    /// Of a content; one that is too large is known by its hash alone.
    pub fn of(bytes: &[u8]) -> Self {
        let kept = bytes.len() <= CHECKPOINT_FILE_BYTES;
        Self { hash: ContentHash::of(bytes), size: bytes.len() as u64, bytes: kept.then(|| Arc::from(bytes)) }
    }
}

/// The same content is the same snapshot, whether it is at hand or not.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        (&self.hash, self.size) == (&other.hash, other.size)
    }
}

impl Eq for Snapshot {}

impl FileChange {
    /// Both its snapshots, as far as it has them.
    pub fn snapshots_mut(&mut self) -> impl Iterator<Item = &mut Snapshot> {
        self.before.iter_mut().chain(&mut self.after)
    }
}

impl FromStr for RewindTarget {
    type Err = String;

    /// `3` or `run_3`, or `redo`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "redo" => Ok(Self::Redo),
            turn => turn
                .strip_prefix("run_")
                .unwrap_or(turn)
                .parse()
                .map(Self::Turn)
                .map_err(|_| format!("{text:?} is no turn; give its number, or `redo`")),
        }
    }
}

impl fmt::Display for RewindReport {
    /// A line for each file; for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.restored.is_empty() && self.merged.is_empty() && self.left.is_empty() {
            return writeln!(f, "Nothing was to be restored.");
        }
        for path in &self.restored {
            writeln!(f, "- restored `{path}`")?;
        }
        for path in &self.merged {
            writeln!(f, "- restored `{path}`, with what was changed elsewhere in it since")?;
        }
        for (path, reason) in &self.left {
            writeln!(f, "- left `{path}` as it is: {reason}")?;
        }
        Ok(())
    }
}

impl Rewound {
    /// What the model is told of it; `None` when no file changed.
    pub(crate) fn note(&self) -> Option<String> {
        let names: Vec<&str> = self.files.iter().map(|change| change.path.as_str()).collect();
        let how = match self.to {
            Some(turn) => format!("took back changes of files that were made after turn {turn}"),
            None => "took back the last rewind of files".to_owned(),
        };
        (!names.is_empty()).then(|| {
            format!("[The user {how}. These files are not as you last saw them: {}]", names.join(", "))
        })
    }
}
