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

/// How long the first frame waits for the colour of the background, for themes that follow it.
pub const BACKGROUND_WAIT: Duration = Duration::from_millis(100);

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

/// Characters of the session's title in a notification and in the terminal's title.
pub const NOTIFIED_TITLE: usize = 60;

/// The bytes of streamed text that may wait for the terminal before the model's stream is paused.
pub const MAILBOX_BYTES: usize = 256 << 10;

/// The messages that belong to no request, such as lines of the log, that wait for the terminal;
/// older ones are left out.
pub const MESSAGES_WAITING: usize = 64;

/// The longest of these messages, in bytes; it is cut.
pub const MESSAGE_BYTES: usize = 4_096;

/// The events that may wait for the terminal before a stored session is read on.
pub const MAILBOX_LETTERS: usize = 4_096;

/// How often the events of a session are read that another process holds.
pub const WATCH_PAUSE: Duration = Duration::from_secs(1);

/// Characters of a host's name that are shown.
pub const HOST_CHARS: usize = 32;

/// The most sessions that a list of sessions holds.
pub const SESSIONS_LISTED: usize = 1_000;
/// Cells between two tab stops.
pub(crate) const TAB_CELLS: usize = 4;
/// Characters of one grapheme cluster that are shown; a pile of combining marks is cut.
pub(crate) const CLUSTER_CHARS: usize = 8;
/// The widest column of prose, in cells, however wide the terminal is.
pub const PROSE_CELLS: usize = 100;

/// Bytes of one line of prose that are read together; a longer line is divided at a space.
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

/// Unchanged lines that are shown before and after a change.
pub(crate) const DIFF_CONTEXT: u32 = 2;
/// Lines of a file's diff that are kept.
pub(crate) const DIFF_LINES: usize = 1_000;
/// Bytes of a line of a diff that are kept.
pub(crate) const DIFF_LINE_BYTES: usize = 1_000;
/// Bytes of a file that lines are compared of; a longer one is shown by its numbers of lines only.
pub(crate) const DIFF_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of a call's output that are kept while it runs; the end of it.
pub(crate) const OUTPUT_BYTES: usize = 256 * 1024;
/// Bytes of the output of all calls that are kept; beyond that, the oldest ones are shortened.
pub(crate) const OUTPUTS_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of an output that are kept when it is shortened; the end of it.
pub(crate) const SHORT_OUTPUT_BYTES: usize = 400;
/// Characters of a title or a name in a cell.
pub(crate) const TITLE_CHARS: usize = 400;
/// Bytes of a command line that are kept.
pub(crate) const COMMAND_BYTES: usize = 8 * 1024;
/// Lines of a message of the user that are shown folded.
pub(crate) const FOLDED_PROMPT_LINES: usize = 20;
/// Rows of reasoning that are shown folded.
pub(crate) const FOLDED_THOUGHT_ROWS: usize = 3;
/// Lines of the output of a command that are shown folded.
pub(crate) const FOLDED_OUTPUT_LINES: usize = 3;
/// Lines of the error of a call that are shown folded.
pub(crate) const FOLDED_ERROR_LINES: usize = 6;
/// Lines of a diff that are shown folded.
pub(crate) const FOLDED_DIFF_LINES: usize = 12;
/// Bytes of reasoning that its folded rows are made of.
pub(crate) const FOLDED_THOUGHT_BYTES: usize = 2_000;
/// Bytes of a line of output that are shown.
pub(crate) const SHOWN_LINE_BYTES: usize = 16 * 1024;
/// Lines of one cell that the transcript shows.
pub(crate) const CELL_LINES: usize = 20_000;
/// How long a line of code may wait for its colours before it is committed without.
pub(crate) const HIGHLIGHT_WAIT: Duration = Duration::from_millis(200);
/// Cells after an unfinished one that the tail shows.
pub(crate) const TAIL_CELLS: usize = 64;
/// The least time between two frames that no key asked for, where the terminal shows an update at
/// once.
pub const FRAME: Duration = Duration::from_millis(50);
/// The least time between two frames that no key asked for, elsewhere.
pub const FRAME_UNSYNCHRONISED: Duration = Duration::from_millis(125);
/// How long a message of the interface is shown.
pub const MESSAGE_TIME: Duration = Duration::from_secs(8);
/// How long a problem with the settings is shown, unless a key is pressed before.
pub const PROBLEM_TIME: Duration = Duration::from_secs(3_600);
/// The rows of a message of the interface.
pub const MESSAGE_ROWS: usize = 3;
/// A turn that took this long ends with a notification.
pub const LONG_TURN: Duration = Duration::from_secs(10);
/// Within this time, a second Ctrl+C quits.
pub const LEAVE_PAUSE: Duration = Duration::from_secs(2);
/// The rows of the message that are shown.
pub const COMPOSER_ROWS: usize = 12;
/// The rows of a question that are shown.
pub const PANEL_ROWS: usize = 20;
/// How long plain mode waits for what a line led to before it asks for the next one.
pub const ANSWER_PAUSE: Duration = Duration::from_secs(1);
/// Typed messages that plain mode recognises when they become part of the conversation.
pub const TYPED: usize = 64;
/// How often plain mode says that a turn still runs.
pub const HEARTBEAT: Duration = Duration::from_secs(20);

/// How long nothing may have been typed before a question takes the focus by itself.
pub const FOCUS_PAUSE: Duration = Duration::from_secs(1);
/// Within this time, a key after another one is typing: together they are a message, not an answer.
pub const TYPING_GAP: Duration = Duration::from_millis(200);
/// How long keys are ignored after a question got the focus.
pub const FOCUS_GRACE: Duration = Duration::from_millis(400);
/// Rows of a command, a text or a diff that a question shows before `v` shows the rest.
pub const PANEL_CONTENT_ROWS: usize = 12;
/// Cells from which on a diff is shown side by side.
pub const SIDE_BY_SIDE_CELLS: usize = 140;
/// Rows of texts that a question shows in all.
pub const PANEL_WHOLE_ROWS: usize = 5_000;
/// Rows of the preview of a list's selected row.
pub const PREVIEW_ROWS: usize = 4;
/// Rows of the preview that describe a setting.
pub(crate) const SETTING_LINES: usize = 2;

/// Rows that the transcript's screen keeps rendered.
pub(crate) const VIEW_ROWS: usize = 20_000;
/// Hits of a search that are counted.
pub(crate) const SEARCH_HITS: usize = 100_000;
/// Bytes of a query of the transcript.
pub(crate) const SEARCH_BYTES: usize = 1_000;
/// Bytes that are copied at most.
pub(crate) const COPIED_BYTES: usize = 4 * 1024 * 1024;
/// The cells of a stored session that are printed when it is opened; the transcript has all.
pub const RESUMED_CELLS: usize = 60;
