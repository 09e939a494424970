//! The accesses of a tool call, declared before it runs.

use system::AbsPath;

/// How long a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Lifetime {
    /// Until it ends, and no longer than the session.
    #[default]
    Session,
    /// Also after the session closes.
    Kept,
    /// It is input of a command that is already running.
    Running,
}

/// One access of a call. The gate bases its decision on these alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Reads a file or directory.
    Read(AbsPath),
    /// Creates, changes or removes a file.
    Write(AbsPath),
    /// Runs a shell command line in a directory.
    Execute {
        /// The command line, exactly as it is passed to the shell.
        command: String,
        /// The working directory.
        cwd: AbsPath,
        /// Whether the call asks to run outside the sandbox.
        unconfined: bool,
        /// The model's reason for leaving the sandbox.
        reason: Option<String>,
        /// How long it runs.
        lifetime: Lifetime,
    },
    /// Fetches a URL.
    Fetch(String),
    /// Calls a function of an MCP server or an integration, or changes only the session's own
    /// state.
    Call {
        /// The function's full name.
        function: String,
        /// Whether the function only reads.
        read_only: bool,
    },
}
