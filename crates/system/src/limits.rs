//! Every limit of this crate, in one place.

use std::time::Duration;

/// The most bytes that one read returns: a larger file is read in ranges (`TextRange`), which work on any size.
pub const MAX_READ_BYTES: u64 = 10 * 1024 * 1024;

/// The largest ignore file that is used.
pub(crate) const IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// How many leading bytes of a file are searched for a NUL before a range of it is read as text.
pub const SNIFF_BYTES: usize = 8 * 1024;

/// The most symbolic links followed for one path; as many as Linux follows.
pub const MAX_LINKS: usize = 40;

/// How long output is still taken after a process has ended, when a child that it left behind holds the pipe open.
pub const EXIT_GRACE: Duration = Duration::from_millis(200);

/// How long a process group has between SIGTERM and SIGKILL.
pub const TERM_WAIT: Duration = Duration::from_secs(2);

/// How long a process is waited for after SIGKILL; one that is stuck in the kernel is given up on.
pub const KILL_WAIT: Duration = Duration::from_secs(1);

/// How many bytes are read from a process's output at once.
pub(crate) const OUTPUT_CHUNK_BYTES: usize = 64 * 1024;

/// Pieces of output are merged up to this many bytes, so that a program writing single bytes costs no allocation each.
pub(crate) const OUTPUT_MERGE_BYTES: usize = 8 * 1024;

/// The stack of the thread that waits for a process, in bytes. It makes two system calls.
pub(crate) const WAIT_STACK_BYTES: usize = 128 * 1024;

/// How long one case of the contract suite may take; for a case that hangs, not for one that is slow.
pub(crate) const CONTRACT_CASE: Duration = Duration::from_secs(30);

/// The largest file that a confined command may write, in bytes.
pub const SANDBOX_FILE_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// The most memory for data that one process of a confined command may have, in bytes.
pub const SANDBOX_DATA_BYTES: u64 = 32 * 1024 * 1024 * 1024;

/// The most processor time that one process of a confined command may use.
pub const SANDBOX_CPU: Duration = Duration::from_secs(2 * 60 * 60);

/// The most processes and threads of a confined command.
pub const SANDBOX_PROCESSES: u64 = 4096;

/// How many entries of a project are looked at for secret files before a confined command starts. With
/// more of them the command does not start.
pub const SANDBOX_SURVEY_ENTRIES: usize = 2_000_000;

/// How long the launcher may take to show what it can enforce, and how often that is looked at.
#[cfg(target_os = "linux")]
pub(crate) const PROBE_WAIT: Duration = Duration::from_secs(5);
/// See [`PROBE_WAIT`].
#[cfg(target_os = "linux")]
pub(crate) const PROBE_POLL: Duration = Duration::from_millis(1);

/// How long the user's login shell may take to tell its variables.
pub const LOGIN_SHELL_WAIT: Duration = Duration::from_secs(5);

/// The most bytes that are read of what it says.
pub(crate) const LOGIN_SHELL_BYTES: u64 = 1024 * 1024;

/// The most bytes of one variable that are taken of it.
pub(crate) const LOGIN_SHELL_VALUE_BYTES: usize = 32 * 1024;

/// The most bytes of a command's line in the title of a terminal.
pub(crate) const LABEL_BYTES: usize = 60;

/// The random bytes in the mark of a process's notes, and in each name that has the mark.
pub(crate) const TOKEN_BYTES: usize = 16;

/// The most bytes that are read of the notes of a process that has ended.
pub(crate) const NOTES_BYTES: u64 = 16 << 20;

/// How many names are tried for a temporary file.
pub(crate) const TEMPORARY_TRIES: usize = 16;

/// How long a session waits until what killed processes left behind is removed. The removal goes on
/// after that.
pub(crate) const SWEEP_WAIT: Duration = Duration::from_secs(1);

/// How many entries of a project are looked at for new git directories when a confined command has ended.
#[cfg(target_os = "linux")]
pub(crate) const AFTERMATH_ENTRIES: usize = 300_000;

/// How long the temporary files of a session are kept after they were last changed.
pub(crate) const TEMP_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How many names are put away, of those that must not come into being, before a command is killed;
/// and how many numbers are tried for the new name of one.
#[cfg(target_os = "linux")]
pub(crate) const PUT_AWAY_MOST: usize = 8;

/// For how many sandboxes it is remembered what their directories hold.
pub(crate) const SANDBOX_SURVEYS: usize = 8;

/// How long a directory must not have changed before what it holds is remembered. Longer than the
/// resolution of any file system's times.
pub const SANDBOX_SURVEY_SETTLED: Duration = Duration::from_secs(3);
