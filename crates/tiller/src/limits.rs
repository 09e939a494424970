//! Every limit of the binary.

use std::time::Duration;

/// The largest file that `sessions import` reads, in bytes.
pub(crate) const IMPORT_BYTES: u64 = 256 * 1024 * 1024;
/// The largest provider key that is read from stdin, in bytes.
pub(crate) const KEY_BYTES: u64 = 16 * 1024;
/// The most bytes of arguments or credentials that are read from stdin.
pub(crate) const STDIN_BYTES: u64 = 4 * 1024 * 1024;
/// How long to wait for the first byte on stdin when a prompt was given as an argument.
pub(crate) const STDIN_WAIT: Duration = Duration::from_secs(3);
/// The largest prompt that is read from stdin, in bytes.
pub(crate) const PROMPT_BYTES: u64 = 10 * 1024 * 1024;
/// How many mistakes of an answer against `--output-schema` the model is shown.
pub(crate) const SCHEMA_ERRORS: usize = 10;
/// How often the line about the progress of a run is drawn.
pub(crate) const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// How many sessions are suggested for an id that matches none.
pub(crate) const NEAREST_SESSIONS: usize = 3;
/// How long a cancelled turn may take to settle before the run ends without it.
pub(crate) const SETTLE: Duration = Duration::from_secs(5);
/// The delay between the start and the discovery of local model servers, so that the editor's
/// first requests are answered before.
pub(crate) const DISCOVERY_DELAY: Duration = Duration::from_millis(5);
/// How long open sessions may take to close after the editor has disconnected. Editors expect the
/// process to exit within a second.
pub(crate) const HANG_UP: Duration = Duration::from_millis(800);
/// How long it may take after a signal to answer the open prompts and release their terminals.
pub(crate) const STOP: Duration = Duration::from_millis(2000);
/// The capacity of each output queue (standard output, standard error), in bytes.
pub(crate) const STREAM_BYTES: usize = 1024 * 1024;
/// How long to wait for the reader of queued output when the process ends.
pub(crate) const LAST_WRITES: Duration = Duration::from_millis(300);
/// The most values that a completion script is given.
pub(crate) const COMPLETIONS: usize = 200;
/// The largest list of sums, or signature, of a release, in bytes.
pub(crate) const SUMS_BYTES: usize = 1024 * 1024;
/// The largest archive of a release, in bytes.
pub(crate) const ARCHIVE_BYTES: usize = 256 * 1024 * 1024;
/// The largest program in an archive of a release, in bytes.
pub(crate) const PROGRAM_BYTES: u64 = system::limits::MAX_PROGRAM_BYTES;
/// How long a new version may take to say what it is.
pub(crate) const FIRST_WORDS: Duration = Duration::from_secs(20);
/// How long a command with an orderly shutdown may take after a signal.
pub(crate) const ORDERLY_SHUTDOWN: Duration = Duration::from_secs(15);
/// How long the last traces of a server may take to be sent.
#[cfg(feature = "otel")]
pub(crate) const TRACES_WAIT: Duration = Duration::from_secs(3);
/// Bytes of one text in a span.
#[cfg(feature = "otel")]
pub(crate) const SPAN_TEXT_BYTES: usize = 64 * 1024;
/// How long every other command may take after a signal.
pub(crate) const IMMEDIATE_SHUTDOWN: Duration = Duration::from_millis(500);
/// A signal that is repeated within this time counts as one: `timeout`, for example, signals the
/// process and its group.
pub(crate) const SAME_SIGNAL: Duration = Duration::from_millis(100);
/// The page size of requests to the store for sessions.
pub(crate) const SESSIONS_PAGE: usize = 100;
/// The longest session title in a list, in characters.
pub(crate) const TITLE_CHARS: usize = 60;
/// How long the demo waits for its agent's next message.
pub(crate) const DEMO_IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long the demo's agent may take to exit once its input is closed.
pub(crate) const DEMO_EXIT: Duration = Duration::from_secs(2);
/// How many bytes of output a terminal of the demo keeps when the agent sets no limit.
pub(crate) const DEMO_TERMINAL_BYTES: usize = 1024 * 1024;
/// How many lines of a terminal's output the demo prints.
pub(crate) const DEMO_TERMINAL_LINES: usize = 30;
/// How many lines of a diff the demo prints.
pub(crate) const DEMO_DIFF_LINES: usize = 20;
/// The capacity of the demo's queue of terminal events.
pub(crate) const DEMO_TERMINAL_EVENTS: usize = 64;

/// The default timeout of a hook.
pub(crate) const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest timeout of a hook.
pub(crate) const HOOK_TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// The largest idle timeout of a model server.
pub(crate) const IDLE_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How many bytes of the output of the system's URL opener are kept.
pub(crate) const BROWSER_OUTPUT_BYTES: usize = 4 * 1024;

/// How many task polls the event loop runs between two checks for I/O, timers and wake-ups from
/// other threads.
pub(crate) const EVENT_INTERVAL: u32 = 8;

/// The longest wait for the keyring's program, which may ask the user to unlock it.
pub(crate) const KEYRING_WAIT: Duration = Duration::from_secs(30);

/// The most bytes of the output of the keyring's program.
pub(crate) const KEYRING_OUTPUT_BYTES: usize = 256 * 1024;

/// The free space below which the doctor reports a full disk.
pub(crate) const LEAST_DISK_BYTES: u64 = 100 << 20;

/// How long the doctor waits for the first answer of `tiller acp`.
pub(crate) const STARTUP_WAIT: Duration = Duration::from_secs(10);

/// How long the keyring is not asked again after a failure.
pub(crate) const KEYRING_PAUSE: Duration = Duration::from_secs(60);

/// The files of a project that the terminal interface completes.
pub(crate) const COMPLETED_FILES: usize = 200_000;

/// How much of a clipboard program's error output is kept, in bytes.
pub(crate) const CLIPBOARD_ERROR_BYTES: usize = 4 << 10;

/// The prompts that the history keeps.
pub(crate) const HISTORY_ENTRIES: usize = 10_000;

/// How long what was read of a token in a database is used.
#[cfg(feature = "postgres")]
pub(crate) const TOKENS_CACHED: Duration = Duration::from_secs(2);

/// How often a command looks whether the server has ended.
pub(crate) const DRAIN_STEP: Duration = Duration::from_millis(200);

/// How often a node looks for turns of nodes that died, and how many it takes at once.
pub(crate) const ORPHANS_INTERVAL: Duration = Duration::from_secs(4);
pub(crate) const ORPHANS: usize = 100;

/// How long before its expiry a token is reported.
pub(crate) const EXPIRES_SOON: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long before its expiry a certificate is reported.
pub(crate) const CERTIFICATE_EXPIRES_SOON: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// How often a server deletes what is not needed any more.
pub(crate) const SWEEP: Duration = Duration::from_secs(60 * 60);
/// Contents that nothing refers to are looked for once in so many sweeps: nearly all are deleted
/// with what referred to them.
pub(crate) const ORPHANS_AFTER_SWEEPS: u32 = 24;
/// How long a session of the server with neither a client nor a turn stays open.
pub(crate) const SERVE_LINGER: Duration = Duration::from_secs(600);
/// The longest name of a user's directory on a server, in bytes; longer names are hashed.
pub(crate) const USER_NAME_BYTES: usize = 200;
