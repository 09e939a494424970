//! What became of files.

use crate::limits::CHECKPOINT_FILE_BYTES;
use std::{str::FromStr, sync::Arc};
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

/// How far changes are to be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindTarget {
    /// To how files were when the turn with this number had ended; 0 is before the first.
    Turn(u64),
    /// To how they were before the last rewind.
    Redo,
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
