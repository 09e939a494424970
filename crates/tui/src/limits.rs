//! The limits of the interface.

/// Cells between two tab stops.
pub(crate) const TAB_CELLS: usize = 4;
/// Characters of one grapheme cluster that are shown; a pile of combining marks is cut.
pub(crate) const CLUSTER_CHARS: usize = 8;
/// The widest column of prose, in cells, however wide the terminal is.
pub const PROSE_CELLS: usize = 100;
