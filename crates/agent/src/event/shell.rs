//! Changes of background commands.

use crate::ToolCallId;

/// A background command as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellUpdate {
    /// Its id: `sh_1`, or `out_1` if it was started outside the sandbox.
    pub id: String,
    /// The command line on one line.
    pub command: String,
    /// The call that started it.
    pub call: ToolCallId,
    /// How it ended, if it has.
    pub end: Option<ShellEnding>,
    /// Seconds since its start, or between its start and its end.
    pub seconds: u64,
    /// Whether it keeps running when the session closes.
    pub keeps: bool,
    /// Whether a client shows it in a terminal.
    pub in_terminal: bool,
}

/// How a background command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellEnding {
    /// `exit 0`, `SIGKILL`, `stopped` or `timed out`.
    pub how: String,
    /// Whether it exited with the code 0.
    pub success: bool,
    /// Whether it was stopped by a call, by the user or by the end of the session.
    pub stopped: bool,
}

impl ShellUpdate {
    /// Returns the outcome in words: `succeeded (exit 0, 2s)`; `runs (2s)` while it runs.
    pub fn outcome(&self) -> String {
        let Some(ShellEnding { how, success, stopped }) = &self.end else {
            return format!("runs ({}s)", self.seconds);
        };
        match (success, stopped) {
            (_, true) => format!("was stopped ({}s)", self.seconds),
            (true, false) => format!("succeeded ({how}, {}s)", self.seconds),
            (false, false) => format!("failed ({how}, {}s)", self.seconds),
        }
    }

    /// Returns the message about its end, for the model and for users.
    pub fn message(&self) -> String {
        format!("[Background bash command '{}' {}]\nCommand: {}", self.id, self.outcome(), self.command)
    }
}
