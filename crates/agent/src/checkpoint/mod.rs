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

use crate::StoreError;
use std::fmt;
use system::AbsPath;

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
