//! The limits of the terminal interface.

use std::time::Duration;

/// How long a terminal may take nothing before it counts as stalled. Nothing is drawn meanwhile.
pub const STALLED: Duration = Duration::from_secs(5);

/// How long the last bytes of a terminal that is given back may take.
pub const LAST_WRITE: Duration = Duration::from_millis(500);

/// How long the bytes of one escape sequence may take: a lone Escape is a key after this time.
pub const SEQUENCE_GAP: Duration = Duration::from_millis(30);

/// How long the bytes of one answer of the terminal may take.
pub const ANSWER_GAP: Duration = Duration::from_millis(500);

/// Characters that come within this time of each other are pasted, not typed.
pub const BURST_GAP: Duration = Duration::from_millis(8);

/// Characters that come in one read beyond this number are pasted, not typed.
pub const BURST_CHARACTERS: usize = 16;

/// How long the size of the terminal must stay the same before a change of it is reported.
pub const RESIZE_PAUSE: Duration = Duration::from_millis(50);

/// The longest escape sequence that is read, in bytes; longer ones are dropped.
pub const MAX_SEQUENCE: usize = 4096;

/// The longest paste that is read, in bytes; the rest of a longer one is dropped.
pub const MAX_PASTE: usize = 16 * 1024 * 1024;

/// The longest address of a hyperlink, in bytes.
pub const MAX_HYPERLINK: usize = 2083;

/// The longest text that is copied through the terminal, in bytes.
pub const MAX_TERMINAL_COPY: usize = 100_000;

/// The longest title of the terminal and text of a notification, in characters.
pub const MAX_TITLE: usize = 120;

/// Cells between two tab stops.
pub(crate) const TAB_CELLS: usize = 4;
/// Characters of one grapheme cluster that are shown; a pile of combining marks is cut.
pub(crate) const CLUSTER_CHARS: usize = 8;
/// The widest column of prose, in cells, however wide the terminal is.
pub const PROSE_CELLS: usize = 100;
