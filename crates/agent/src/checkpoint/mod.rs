//! Records the changes that tools make to files, turn by turn, and rewinds them for the user.
//!
//! Architecture Invariant: only files that a tool of this session wrote are ever restored, and only
//! as far as no one else has changed the same lines since. Changes that commands made to files are
//! unknown and never reverted.

mod merge;
mod recorder;
mod restore;
mod timeline;
mod undo;

pub use timeline::Checkpoint;

pub(crate) use recorder::Recorder;
pub(crate) use restore::{restore, rewind};
pub(crate) use timeline::Timeline;
