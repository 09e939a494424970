//! Every limit of the crate as a named constant, with its unit and origin.

use std::time::Duration;

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
