//! The limits of the interface.

/// The bytes of streamed text that may wait for the terminal before the model's stream is paused.
pub const MAILBOX_BYTES: usize = 256 << 10;

/// The events that may wait for the terminal before a stored session is read on.
pub const MAILBOX_LETTERS: usize = 4_096;

/// The most sessions that a list of sessions holds.
pub const SESSIONS_LISTED: usize = 200;
/// Cells between two tab stops.
pub(crate) const TAB_CELLS: usize = 4;
/// Characters of one grapheme cluster that are shown; a pile of combining marks is cut.
pub(crate) const CLUSTER_CHARS: usize = 8;
/// The widest column of prose, in cells, however wide the terminal is.
pub const PROSE_CELLS: usize = 100;
