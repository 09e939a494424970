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
pub(crate) use restore::{restore, rewind};
pub(crate) use timeline::Timeline;
