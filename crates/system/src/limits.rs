//! All limits of this crate.

use std::time::Duration;

/// The maximum bytes that one read returns. A larger file is read in ranges ([`crate::TextRange`]),
/// which work for any file size.
pub const MAX_READ_BYTES: u64 = 10 * 1024 * 1024;

/// How often the supervisor of a command looks whether the deadline of the agent's process is over.
#[cfg(target_os = "linux")]
pub(crate) const DEADLINE_STEP: Duration = Duration::from_millis(500);

/// The maximum size of a program file that an update replaces, in bytes. Debug builds are large.
pub const MAX_PROGRAM_BYTES: u64 = 1024 * 1024 * 1024;

/// The maximum size of an ignore file in bytes; a larger one is not used.
pub(crate) const IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// How many leading bytes of a file are checked for NUL before a range of it is read as text.
pub const SNIFF_BYTES: usize = 8 * 1024;

/// The maximum number of symbolic links followed for one path; the same as on Linux.
pub const MAX_LINKS: usize = 40;

/// How long output is still read after a process has exited, if a child that it left behind keeps
/// the pipe open.
pub const EXIT_GRACE: Duration = Duration::from_millis(200);

/// The time between SIGTERM and SIGKILL to a process group.
pub const TERM_WAIT: Duration = Duration::from_secs(2);

/// The timeout for the end of a process after SIGKILL. A process that is stuck in the kernel is
/// given up on.
pub const KILL_WAIT: Duration = Duration::from_secs(1);

/// The buffer size for reading a process's output, in bytes.
pub(crate) const OUTPUT_CHUNK_BYTES: usize = 64 * 1024;

/// Pieces of output are merged up to this many bytes, so that a program that writes single bytes
/// does not cost an allocation for each.
pub(crate) const OUTPUT_MERGE_BYTES: usize = 8 * 1024;

/// The stack size of the thread that waits for a process, in bytes. The thread makes two system
/// calls.
pub(crate) const WAIT_STACK_BYTES: usize = 128 * 1024;

/// The timeout of one case of the contract suite. Meant for a case that hangs, not for a slow one.
pub(crate) const CONTRACT_CASE: Duration = Duration::from_secs(30);

/// The maximum size of a file that a confined command may write, in bytes.
pub const SANDBOX_FILE_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// The maximum data memory of one process of a confined command, in bytes.
pub const SANDBOX_DATA_BYTES: u64 = 32 * 1024 * 1024 * 1024;

/// The maximum CPU time of one process of a confined command.
pub const SANDBOX_CPU: Duration = Duration::from_secs(2 * 60 * 60);

/// The maximum number of processes and threads of a confined command.
pub const SANDBOX_PROCESSES: u64 = 4096;

/// How many entries of a project are searched for secret files before a confined command starts. If
/// the project has more, the command does not start.
pub const INDEX_ENTRIES: usize = 2_000_000;

/// The timeout for the launcher to show what it can enforce.
#[cfg(target_os = "linux")]
pub(crate) const PROBE_WAIT: Duration = Duration::from_secs(5);
/// Maximum number of versions of obeyed files that count in a project's next session.
pub(crate) const KNOWN_VERSIONS: usize = 5_000;
/// The shortest and the longest time in which changes of a project's files are gathered before new
/// git directories are looked for.
pub(crate) const CHANGES_GATHERED: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(250)];
/// The time between two such searches, as a multiple of the time that one takes.
pub(crate) const CHANGES_SHARE: u32 = 8;
/// Maximum time that the processes of a command are waited for while a guard is put back. A process
/// in a system call stops when it returns.
#[cfg(target_os = "linux")]
pub(crate) const STOP_WAIT: Duration = Duration::from_millis(50);
/// Maximum time that opening a room takes.
#[cfg(target_os = "linux")]
pub(crate) const ROOM_WAIT: Duration = Duration::from_secs(20);
/// How long a room without commands is kept.
pub(crate) const ROOM_KEPT: Duration = Duration::from_secs(10 * 60);
/// How many rooms without commands are kept.
pub(crate) const ROOMS_KEPT: usize = 4;
/// Maximum number of files of a project whose values are removed from the output of commands.
pub(crate) const SECRET_FILES: usize = 64;
/// Maximum number of bytes of such a file that are read.
pub(crate) const SECRET_FILE_BYTES: u64 = 64 * 1024;
/// Maximum size of a folder that commands change in a copy, in bytes.
pub(crate) const COPIED_FOLDER_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum number of files of such a folder.
pub(crate) const COPIED_FOLDER_FILES: usize = 2_000;
/// Maximum time for reading the versions of such folders in a repository's references.
pub(crate) const VERSIONS_WAIT: Duration = Duration::from_secs(10);
/// Maximum size of what is read of them, in bytes.
pub(crate) const VERSIONS_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of files with references whose versions are remembered from session to session.
pub(crate) const REFERENCES: usize = 1_000;
/// Maximum size of a control file that commands change in a copy, in bytes.
pub(crate) const CONTROL_FILE_BYTES: u64 = 1024 * 1024;
/// Maximum size of a configuration file of the home directory that is copied for commands, in
/// bytes.
#[cfg(target_os = "linux")]
pub(crate) const COPIED_FILE_BYTES: u64 = 64 * 1024;
/// The polling interval during [`PROBE_WAIT`].
#[cfg(target_os = "linux")]
pub(crate) const PROBE_POLL: Duration = Duration::from_millis(1);

/// The timeout for reading the variables of the user's login shell.
pub const LOGIN_SHELL_WAIT: Duration = Duration::from_secs(5);

/// The maximum bytes that are read of the login shell's output.
pub(crate) const LOGIN_SHELL_BYTES: u64 = 1024 * 1024;

/// The maximum length of a variable that is taken from the login shell, in bytes.
pub(crate) const LOGIN_SHELL_VALUE_BYTES: usize = 32 * 1024;

/// The maximum bytes of a command line in the title of a terminal.
pub(crate) const LABEL_BYTES: usize = 60;

/// The number of random bytes in the mark of a process's notes, and in each name that contains the
/// mark.
pub(crate) const TOKEN_BYTES: usize = 16;

/// The maximum bytes that are read of the notes of a process that has ended.
pub(crate) const NOTES_BYTES: u64 = 16 << 20;

/// How many names are tried for a temporary file.
pub(crate) const TEMPORARY_TRIES: usize = 16;

/// How long a change waits for another process that changes the same file.
pub(crate) const CLAIM_WAIT: Duration = Duration::from_secs(60);

/// How long the first pause is between two attempts to lock a file, and the longest one.
pub(crate) const CLAIM_PAUSE: Duration = Duration::from_millis(1);
pub(crate) const CLAIM_PAUSE_MAX: Duration = Duration::from_millis(50);

/// How long a write waits for another process that is replacing the same file, and how long it
/// pauses between two attempts to lock it.
pub(crate) const MOMENT_WAIT: Duration = Duration::from_secs(5);
pub(crate) const MOMENT_PAUSE: Duration = Duration::from_micros(200);

/// The maximum bytes of the extended attributes of a file that a write keeps.
pub(crate) const XATTR_BYTES: usize = 64 << 10;

/// How long a session waits for the removal of what killed processes left behind. The removal
/// continues in the background after that.
pub(crate) const SWEEP_WAIT: Duration = Duration::from_secs(1);

/// How long the temporary files of a session are kept after their last change.
pub(crate) const TEMP_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The age after which what commands changed in the home directory is removed.
pub(crate) const CACHES_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long a process waits before it looks for such files again.
pub(crate) const TEMP_SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// How many reserved names are renamed before the command is killed, and how many suffixes are
/// tried for the new name of each.
#[cfg(target_os = "linux")]
pub(crate) const FORBIDDEN_RENAMES: usize = 8;

/// Maximum number of directories that a process watches for its sandboxes. It is a quarter of the
/// user's limit where that is less.
#[cfg(target_os = "linux")]
pub(crate) const WATCHED_DIRECTORIES: usize = 32_768;

/// Maximum number of git directories of a project. Each is guarded by mounts of its own.
pub(crate) const GUARDED_REPOSITORIES: usize = 1_000;

/// The number of sandboxes for which directory contents are cached.
pub(crate) const INDEXES: usize = 8;

/// How long a directory must be unchanged before its contents are cached. Longer than the timestamp
/// resolution of any file system.
pub const INDEX_SETTLED: Duration = Duration::from_secs(3);
