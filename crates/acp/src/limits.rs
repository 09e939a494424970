//! All limits of the crate. Each is a named constant with its unit.

use std::time::Duration;

/// Maximum bytes of one incoming line, without the newline. A longer line is discarded and answered
/// with an error.
pub const FRAME_BYTES: usize = 64 * 1024 * 1024;
/// Maximum nesting depth of an incoming message. Below the 128 levels that the JSON parser accepts.
pub(crate) const JSON_DEPTH: usize = 100;
/// Bytes of line buffer kept between lines; capacity beyond it is freed after a huge line.
pub(crate) const KEPT_LINE_BYTES: usize = 1024 * 1024;
/// Bytes read from the client at a time. The whole buffer is touched when a connection begins.
pub(crate) const READ_BYTES: usize = 16 * 1024;
/// Lines queued between the SDK and the writer; further lines wait in the SDK's own queue.
pub(crate) const WRITER_LINES: usize = 64;
/// Bytes that the writer collects from queued lines before one write.
pub(crate) const WRITE_BATCH_BYTES: usize = 256 * 1024;

/// Timeout for a client's response. Permission requests, writes (the user may review them) and the
/// end of a command have no timeout: they can be cancelled instead.
pub const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
/// Cancelled requests whose ids are kept, to translate the client's late responses to them.
pub(crate) const CANCELLED_REQUESTS: usize = 1024;
/// Time for all work to settle after the client closes its side.
pub(crate) const SETTLE: Duration = Duration::from_millis(800);
/// Time for the last lines to be written after [`SETTLE`].
pub(crate) const LAST_WRITES: Duration = Duration::from_millis(100);

/// How long runs of a client in the older dialect continue after it closes its side, as long as it
/// reads.
pub(crate) const LEGACY_LINGER: Duration = Duration::from_secs(600);
/// Files of a directory that are compared before and after a run of the older dialect, to find
/// changes made by commands.
pub(crate) const LEGACY_FILES: usize = 20_000;
/// Maximum bytes of a file changed by a command for its text to be reported.
pub(crate) const LEGACY_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum number of changed files reported for the commands of one run.
pub(crate) const LEGACY_EDITS: usize = 1000;
/// Conversations kept for a client in the older dialect. Beyond it, conversations without a run are
/// dropped, and start anew when the client sends them again.
pub(crate) const LEGACY_CONVERSATIONS: usize = 1000;
/// How long an invalid first line waits for a message that shows the client's dialect.
pub(crate) const DIALECT_WAIT: Duration = Duration::from_millis(250);

/// Updates in flight to a client that does not read them; beyond it, updates wait and merge.
pub(crate) const UPDATES_IN_FLIGHT: u64 = 32;
/// Bytes of updates in flight; beyond it, updates wait and merge, regardless of their number.
pub(crate) const BYTES_IN_FLIGHT: usize = 512 * 1024;
/// Bytes of updates, over all sessions of a connection, that may wait for the client to read them.
///
/// Beyond it, model streams are not read and no tool call starts; output of running commands is
/// dropped; all other updates are still queued.
pub(crate) const BACKLOG_BYTES: usize = 4 * 1024 * 1024;
/// Chunks further apart than this arrive at reading speed and are sent one by one.
pub(crate) const CHUNK_GAP: Duration = Duration::from_millis(5);
/// Chunks closer together than [`CHUNK_GAP`] that are sent immediately before merging begins.
pub(crate) const CHUNK_BURST: u32 = 8;
/// The interval between two messages when chunks arrive fast: 25 messages per second.
pub(crate) const CHUNK_INTERVAL: Duration = Duration::from_millis(40);
/// Maximum bytes of text merged into one message.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of a running command's output that an update shows as text; each such update replaces the
/// previous one.
pub(crate) const LIVE_TEXT_BYTES: usize = 512;
/// The shortest interval between two of those updates.
pub(crate) const LIVE_TEXT_INTERVAL: Duration = Duration::from_millis(200);
/// The longest interval between them. The interval grows with the command's age, so that the
/// updates together stay small compared to the output itself.
pub(crate) const LIVE_TEXT_INTERVAL_MAX: Duration = Duration::from_secs(10);
/// The longest interval between two messages that append to a command's output while there is
/// output to append.
///
/// It grows with the command's age, so that the messages' overhead stays small compared to the
/// output.
pub(crate) const DISPLAY_INTERVAL_MAX: Duration = Duration::from_millis(400);

/// Maximum hits in a response to `_tiller/sessions/search`.
pub(crate) const SEARCH_HITS_MAX: u64 = 1000;
/// Maximum decisions in a response to `_tiller/permissions/log`: the most recent ones.
pub(crate) const LOG_DECISIONS_MAX: usize = 1000;
/// Subagents of one parent shown in a tree; the rest are collapsed into one node.
pub(crate) const TREE_SIBLINGS: usize = 40;
/// The shortest interval between two subagent trees: four per second.
pub(crate) const TREE_INTERVAL: Duration = Duration::from_millis(250);
/// The shortest interval between two subagent dashboards.
pub(crate) const DASHBOARD_INTERVAL: Duration = Duration::from_secs(1);
/// Time without progress in a running subagent after which it counts as stale.
pub(crate) const SWARM_STALE: Duration = Duration::from_secs(60);

/// Maximum characters of a server name supplied by the client.
pub(crate) const NAME_CHARS: usize = 100;
/// Maximum characters of a title supplied by the client.
pub(crate) const TITLE_CHARS: usize = 200;
/// Maximum bytes of a file's old and new text together for a patch to be computed; beyond it, the
/// update only names the kind of change.
pub(crate) const PATCH_BYTES: usize = 512 * 1024;
/// Sessions per page of `session/list`.
pub(crate) const LIST_PAGE: usize = 50;
/// Sessions per page of `session/list` for clients of the KosmoKrator wire.
pub(crate) const KOSMOKRATOR_LIST_PAGE: usize = 100;

/// Client terminals that one session has open at a time.
pub(crate) const TERMINALS: usize = 32;
/// The interval between two polls of a young command's output.
pub(crate) const OUTPUT_POLL: Duration = Duration::from_millis(200);
/// The interval between two polls of an old command's output.
pub(crate) const OUTPUT_POLL_MAX: Duration = Duration::from_secs(2);
/// Time to wait for the exit of a killed command.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(2);

/// Timeout of the command that probes how a client's terminal interprets commands.
pub(crate) const PROBE_WAIT: Duration = Duration::from_secs(5);
/// Timeout of the read that probes whether a client honours line ranges.
pub(crate) const RANGE_WAIT: Duration = Duration::from_secs(5);

/// Time for the launcher to prove, in a terminal of the client, that a command is confined there.
pub(crate) const LAUNCH_WAIT: Duration = Duration::from_secs(10);

/// Time for a client to save a file whose byte-order mark or line endings it may have lost.
pub(crate) const FORM_WAIT: Duration = Duration::from_millis(500);
/// The first pause between two reads of such a file; each pause is twice the previous one.
pub(crate) const FORM_PAUSE: Duration = Duration::from_millis(10);
/// Characters kept of the reason that a client gives for an error.
pub(crate) const REASON_CHARS: usize = 500;
/// Characters of the client's input quoted in an error.
pub(crate) const QUOTED_CHARS: usize = 200;
