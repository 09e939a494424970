//! The limits of the interface.

use std::time::Duration;

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

/// Keys in one sequence of a binding.
pub const SEQUENCE_KEYS: usize = 2;
/// The longest pause between two keys of a sequence.
pub const SEQUENCE_PAUSE: Duration = Duration::from_secs(1);
/// Characters of a query that a list is searched for.
pub const QUERY_CHARS: usize = 200;
/// Lines of a pasted text above which it becomes a token.
pub const PASTE_LINES: usize = 10;
/// Characters of a pasted text above which it becomes a token.
pub const PASTE_CHARS: usize = 1_000;
/// Steps that undo goes back.
pub const UNDO_STEPS: usize = 200;
/// Text that undo keeps, in bytes; the last step is always kept.
pub const UNDO_BYTES: usize = 4 << 20;
/// Cut texts that can be inserted again.
pub const KILLS: usize = 32;
/// Messages that the history has.
pub const HISTORY_ENTRIES: usize = 10_000;
/// The longest message that the history keeps, in bytes.
pub const HISTORY_ENTRY_BYTES: usize = 64 << 10;
/// Completions that are listed.
pub const COMPLETIONS: usize = 200;
/// Characters of a text of one line: a query, a reason, an answer.
pub const FIELD_CHARS: usize = 4_000;
