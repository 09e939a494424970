//! The limits of the interface.

/// Cells between two tab stops.
pub(crate) const TAB_CELLS: usize = 4;
/// Characters of one grapheme cluster that are shown; a pile of combining marks is cut.
pub(crate) const CLUSTER_CHARS: usize = 8;
/// The widest column of prose, in cells, however wide the terminal is.
pub const PROSE_CELLS: usize = 100;

/// Bytes of one line of prose that are looked at together; a longer line is divided at a space.
pub(crate) const LINE_BYTES: usize = 2_000;
/// Bytes of a paragraph after which it is rendered in parts.
pub(crate) const TEXT_BYTES: usize = 2_000;
/// Bytes of a list item or a quotation after which it is rendered in parts.
pub(crate) const ITEM_BYTES: usize = 4_000;
/// Bytes of a line of code that are shown as one row.
pub(crate) const CODE_LINE_BYTES: usize = 64 * 1024;
/// Rows of a table that are aligned in columns; further ones are shown as text.
pub(crate) const TABLE_ROWS: usize = 50;
/// Bytes of a table after which its further rows are shown as text.
pub(crate) const TABLE_BYTES: usize = 16 * 1024;
/// Columns of a table that are aligned; one with more is shown as text.
pub(crate) const TABLE_COLUMNS: usize = 24;
/// The deepest nesting of lists and quotations that is indented.
pub(crate) const NESTING: usize = 12;

/// Bytes of one block of code that are highlighted; the rest of it is plain.
pub(crate) const HIGHLIGHT_BLOCK_BYTES: usize = 24 * 1024;
/// Bytes of a line that is highlighted; a longer one, and what follows it, is plain.
pub(crate) const HIGHLIGHT_LINE_BYTES: usize = 1_000;
/// Lines of highlighted texts that are kept for the transcript.
pub(crate) const HIGHLIGHT_KEPT_LINES: usize = 8_000;
/// Open blocks of code that the highlighter follows at once.
pub(crate) const HIGHLIGHT_BLOCKS: usize = 64;
/// Jobs that may wait for the highlighter; further code is plain.
pub(crate) const HIGHLIGHT_JOBS: usize = 4_096;
