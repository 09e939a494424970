//! Every limit of the binary, named.

use std::time::Duration;

/// Bytes of a file that `sessions import` reads.
pub(crate) const IMPORT_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a provider's key read from stdin.
pub(crate) const KEY_BYTES: u64 = 16 * 1024;
/// Bytes of arguments or credentials read from stdin.
#[cfg(feature = "extensions")]
pub(crate) const STDIN_BYTES: u64 = 4 * 1024 * 1024;
/// How long the first byte on stdin is waited for beside a prompt that was given.
pub(crate) const STDIN_WAIT: Duration = Duration::from_secs(3);
/// Bytes of a prompt read from stdin.
pub(crate) const PROMPT_BYTES: u64 = 16 * 1024 * 1024;
/// How long a cancelled turn may take to settle before the run ends without it.
pub(crate) const SETTLE: Duration = Duration::from_secs(5);
/// How long an editor's first questions are given before servers of models are looked for on this machine.
pub(crate) const HEAD_START: Duration = Duration::from_millis(5);
/// How long open sessions may take to close after an editor has gone. An editor expects the process to be gone within a second.
pub(crate) const HANG_UP: Duration = Duration::from_millis(800);
/// How long prompts may take to be answered, and their terminals to be released, once a signal asks
/// for the end.
pub(crate) const STOP: Duration = Duration::from_millis(2000);
/// Bytes that wait to be written to standard output, and to standard error.
pub(crate) const STREAM_BYTES: usize = 1024 * 1024;
/// How long the reader of what is still queued is waited for once the process is to end.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long a command that ends its work in order may take after a signal.
pub(crate) const IN_ORDER: Duration = Duration::from_secs(15);
/// How long every other command may take after a signal.
pub(crate) const DROPPED: Duration = Duration::from_millis(500);
/// A signal that comes again within this time is the same one, sent to the process and to its
/// group.
pub(crate) const SAME_SIGNAL: Duration = Duration::from_millis(100);
/// Sessions asked of the store at a time.
pub(crate) const SESSIONS_PAGE: usize = 100;
/// Characters of a session's title in a list.
pub(crate) const TITLE_CHARS: usize = 60;
/// How long the demo waits for its agent's next message.
pub(crate) const DEMO_SILENCE: Duration = Duration::from_secs(600);
/// How long the demo's agent may take to end once its input is closed.
pub(crate) const DEMO_GOODBYE: Duration = Duration::from_secs(2);
/// Bytes of output that a terminal of the demo keeps when the agent names no limit.
pub(crate) const DEMO_TERMINAL_BYTES: usize = 1024 * 1024;
/// Lines of a terminal's output that the demo prints.
pub(crate) const DEMO_TERMINAL_LINES: usize = 30;
/// Lines of a diff that the demo prints.
pub(crate) const DEMO_DIFF_LINES: usize = 20;
/// Pieces of terminal output that wait for the demo to take them.
pub(crate) const DEMO_TERMINAL_EVENTS: usize = 64;

/// How long a hook may take unless its setting says otherwise.
pub(crate) const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it may take at the most.
pub(crate) const HOOK_TIMEOUT_MAX: Duration = Duration::from_secs(600);

/// How long a model's server may be allowed to send nothing at the most.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Bytes of what the system's opener of addresses says that are kept.
#[cfg(feature = "extensions")]
pub(crate) const BROWSER: usize = 4 * 1024;

/// Steps of tasks between two looks at what has come in: sockets, pipes, timers, other threads.
pub(crate) const EVENT_INTERVAL: u32 = 8;
