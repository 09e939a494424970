//! Every limit of the crate, named, with its unit.

use std::time::Duration;

/// Bytes of one incoming line, the newline not counted; a longer one is discarded and answered with an error.
pub const FRAME_BYTES: usize = 64 * 1024 * 1024;
/// How deeply an incoming message may nest. Below the 128 levels at which the JSON parser itself gives up.
pub(crate) const JSON_DEPTH: usize = 100;
/// Bytes of line buffer that are kept between lines; what a huge line needed beyond it is given back.
pub(crate) const KEPT_LINE_BYTES: usize = 1024 * 1024;
/// Bytes that are read from the client at a time. All of it is touched when a connection begins.
pub(crate) const READ_BYTES: usize = 16 * 1024;
/// Lines between the protocol library and the writer; more wait in the library's own queue.
pub(crate) const WRITER_LINES: usize = 64;
/// Bytes the writer collects from waiting lines before it writes them in one go.
pub(crate) const WRITE_BATCH_BYTES: usize = 256 * 1024;

/// How long the client has for an answer. Permissions, writes (the user may review them) and the
/// end of a command are not under it: they can be cancelled instead.
pub const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
/// How long everything has to settle once the client has closed its side.
pub(crate) const SETTLE: Duration = Duration::from_millis(800);
/// How long the last lines have to be written after that.
pub(crate) const LAST_WRITES: Duration = Duration::from_millis(100);

/// How long the runs of a client of the older dialect go on after it has closed its side, as long
/// as it reads.
pub(crate) const LEGACY_LINGER: Duration = Duration::from_secs(600);
/// Files of a folder that are looked at, before and after a run of the older dialect, for changes
/// by commands.
pub(crate) const LEGACY_FILES: usize = 20_000;
/// Bytes of a file that a command changed, up to which its text is told.
pub(crate) const LEGACY_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Files that commands of one run changed, which are told.
pub(crate) const LEGACY_EDITS: usize = 1000;
/// Conversations of a client of the older dialect that are known; beyond it, those without a run
/// are forgotten, and begin anew when they are sent again.
pub(crate) const LEGACY_CONVERSATIONS: usize = 1000;
/// How long a bad line that comes first waits for a message that tells which dialect the client
/// speaks.
pub(crate) const DIALECT_WAIT: Duration = Duration::from_millis(250);

/// Updates that may be under way to a client that does not read them; beyond it they wait and merge.
pub(crate) const UPDATES_IN_FLIGHT: u64 = 32;
/// Bytes of updates that may be under way so; beyond it they wait and merge, whatever their number.
pub(crate) const BYTES_IN_FLIGHT: usize = 512 * 1024;
/// Bytes of updates, of all sessions of a connection together, that may wait for the client to read
/// them. Beyond it no model is read on and no tool begins; what a running command prints is left
/// out; everything else is told all the same.
pub(crate) const BACKLOG_BYTES: usize = 4 * 1024 * 1024;
/// Chunks further apart than this are at reading speed and go out one by one.
pub(crate) const CHUNK_GAP: Duration = Duration::from_millis(5);
/// Chunks closer together than [`CHUNK_GAP`] that may go out at once before merging begins.
pub(crate) const CHUNK_BURST: u32 = 8;
/// The time between two messages of a flood: 25 messages a second.
pub(crate) const CHUNK_INTERVAL: Duration = Duration::from_millis(40);
/// Bytes of text that merge into one message.
pub(crate) const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of a running command's output that an update shows as text; each such update replaces the one before.
pub(crate) const LIVE_TEXT_BYTES: usize = 512;
/// The shortest time between two of those updates.
pub(crate) const LIVE_TEXT_INTERVAL: Duration = Duration::from_millis(200);
/// The longest; the interval grows with the command's age, so that all of them together stay small beside the output itself.
pub(crate) const LIVE_TEXT_INTERVAL_MAX: Duration = Duration::from_secs(10);
/// The longest time between two messages that add to a command's output, where there is always something to add; grows with the
/// command's age, so that what is around the output stays small beside it.
pub(crate) const DISPLAY_INTERVAL_MAX: Duration = Duration::from_millis(400);

/// Messages that `_tiller/sessions/search` answers with at the most.
pub(crate) const FOUND_MOST: u64 = 1000;
/// Decisions that `_tiller/permissions/log` answers with at the most, the last ones.
pub(crate) const LOG_MOST: usize = 1000;
/// Subagents of one parent that a tree shows; the rest are one node.
pub(crate) const TREE_SIBLINGS: usize = 40;
/// The shortest time between two trees of subagents: four a second.
pub(crate) const TREE_INTERVAL: Duration = Duration::from_millis(250);
/// The shortest time between two dashboards of subagents.
pub(crate) const DASHBOARD_INTERVAL: Duration = Duration::from_secs(1);
/// How long nothing may move among running subagents before they count as stale.
pub(crate) const SWARM_STALE: Duration = Duration::from_secs(60);

/// Characters of base64 that one image of a prompt may have: 15 MiB of image.
pub(crate) const IMAGE_BASE64: usize = 20 * 1024 * 1024;
/// Characters of the name of a server that the client gives.
pub(crate) const NAME_CHARS: usize = 100;
/// Characters of a title that the client gives.
pub(crate) const TITLE_CHARS: usize = 200;
/// Bytes of a file's two texts together that are compared for a patch; beyond it, only what happened to the file is told.
#[cfg(feature = "v2")]
pub(crate) const PATCH_BYTES: usize = 512 * 1024;
/// Sessions of one page of `session/list`.
pub(crate) const LIST_PAGE: usize = 50;
/// The same for clients of the KosmoKrator wire.
pub(crate) const SEED_LIST_PAGE: usize = 100;

/// Terminals of the client that one session has open at a time.
pub(crate) const TERMINALS: usize = 32;
/// The time between two looks at the output of a young command.
pub(crate) const OUTPUT_POLL: Duration = Duration::from_millis(200);
/// The time between two looks at the output of an old command.
pub(crate) const OUTPUT_POLL_MAX: Duration = Duration::from_secs(2);
/// How long to wait for a killed command's end.
pub(crate) const KILL_WAIT: Duration = Duration::from_secs(2);

/// How long the command that finds out how a client's terminal takes commands may run.
pub(crate) const PROBE_WAIT: Duration = Duration::from_secs(5);
/// How long the read may take that finds out whether a client honours ranges of lines.
pub(crate) const RANGE_WAIT: Duration = Duration::from_secs(5);

/// How long the launcher may take, in a terminal of the client, to show that a command is confined there.
pub(crate) const LAUNCH_WAIT: Duration = Duration::from_secs(10);

/// How long a client may take to save a file whose byte-order mark or line ends it may have lost.
pub(crate) const FORM_WAIT: Duration = Duration::from_millis(500);
/// The first pause between two looks at such a file; each is twice the one before.
pub(crate) const FORM_PAUSE: Duration = Duration::from_millis(10);
/// Characters of a client's reason for an error that are kept.
pub(crate) const REASON_CHARS: usize = 500;
/// Characters of a client's input that an error quotes.
pub(crate) const QUOTED_CHARS: usize = 200;
