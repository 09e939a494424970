//! What a tool call is going to touch, declared before it runs.

use system::AbsPath;

/// One thing a call touches. The gate decides on these, and on nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Reads a file or folder.
    Read(AbsPath),
    /// Creates, changes or removes a file.
    Write(AbsPath),
    /// Runs a shell line in a folder.
    Execute {
        /// The line, as it will be passed to the shell.
        command: String,
        /// Where it runs.
        cwd: AbsPath,
        /// Whether it asks to run outside of the sandbox.
        unconfined: bool,
        /// Why it asks to, in the model's words.
        reason: Option<String>,
    },
    /// Fetches a URL.
    Fetch(String),
    /// Calls a function of an MCP server or an integration, or changes nothing but the session's own state.
    Call {
        /// The function's full name.
        function: String,
        /// Whether it only reads.
        read_only: bool,
    },
}
