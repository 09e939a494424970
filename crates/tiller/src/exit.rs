//! Exit codes of the process. The table is in docs/headless.md.

use crate::streams::StdoutError;
use std::process::ExitCode;

/// An exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Success.
    Ok = 0,
    /// Something failed.
    Error = 1,
    /// A limit ended the run: turns, tokens or time. A server refused to start.
    Limit = 2,
    /// The server to administer was not reachable.
    Unreachable = 3,
    /// The server to administer does not let this user in.
    NotAllowed = 4,
    /// Writing to standard output failed, for another reason than a closed reader.
    Output = 74,
    /// Ended by SIGHUP.
    HungUp = 129,
    /// Ended by SIGINT.
    Interrupted = 130,
    /// Ended by SIGQUIT.
    Quit = 131,
    /// The reader closed standard output.
    Closed = 141,
    /// Ended by SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// All exit codes, in ascending order.
    pub(crate) const ALL: [Self; 11] = [
        Self::Ok,
        Self::Error,
        Self::Limit,
        Self::Unreachable,
        Self::NotAllowed,
        Self::Output,
        Self::HungUp,
        Self::Interrupted,
        Self::Quit,
        Self::Closed,
        Self::Terminated,
    ];

    /// What it means, for people.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "success",
            Self::Error => "failure; invalid arguments, invalid settings and problems that a check found too",
            Self::Limit => {
                "a limit ended the run: --max-turns, --timeout, the model's output limit, a goal's budget; \
                 `tiller serve` did not start, or its command line is invalid"
            }
            Self::Unreachable => "no server was reachable for a command of `tiller serve`",
            Self::NotAllowed => "the server does not permit this user a command of `tiller serve`",
            Self::Output => "standard output could not be written, for example because the disk is full",
            Self::HungUp => "hangup (SIGHUP)",
            Self::Quit => "quit at once (SIGQUIT)",
            Self::Interrupted => "interrupted (SIGINT, ctrl+c)",
            Self::Closed => "the reader of standard output closed it before everything was written",
            Self::Terminated => "terminated (SIGTERM)",
        }
    }

    /// The numeric exit code.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<&StdoutError> for Exit {
    fn from(why: &StdoutError) -> Self {
        if why.is_closed() { Self::Closed } else { Self::Output }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

/// An error as it is printed, all lines of it, with its exit code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct PrintedError {
    pub(crate) exit: Exit,
    pub(crate) text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_table_has_every_exit_code_once() {
        let document = include_str!("../../../docs/headless.md");
        let (_, section) = document.split_once("## Exit codes").expect("there is a section");
        let table = section.split("\n## ").next().unwrap_or_default();
        let number = |line: &str| line.strip_prefix("| ")?.split(' ').next()?.parse::<u8>().ok();
        let documented: Vec<_> = table.lines().filter_map(number).collect();
        assert_eq!(documented, Exit::ALL.map(Exit::code));
    }
}
