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
    /// A limit ended the run: turns, tokens or time.
    Limit = 2,
    /// The command line is invalid or cannot be carried out.
    Usage = 64,
    /// Writing to standard output failed, for another reason than a closed reader.
    Output = 74,
    /// Ended by SIGHUP.
    HungUp = 129,
    /// Ended by SIGINT.
    Interrupted = 130,
    /// The reader closed standard output.
    Closed = 141,
    /// Ended by SIGTERM.
    Terminated = 143,
}

impl Exit {
    /// The numeric exit code.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// Returns the exit code for an error.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if let Some(PrintedError { exit, .. }) = error.downcast_ref() {
            *exit
        } else if error.chain().any(|cause| cause.is::<Usage>()) {
            Self::Usage
        } else if StdoutError::caused(error) {
            Self::Output
        } else {
            Self::Error
        }
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

/// A problem with the command line, as a lowercase fragment. An error of this type ends the
/// process with [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// Returns an error about the command line.
pub(crate) fn usage(what: impl Into<String>) -> anyhow::Error {
    Usage(what.into()).into()
}

/// An error as it is printed, with its exit code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct PrintedError {
    pub(crate) exit: Exit,
    pub(crate) text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Exit; 9] = [
        Exit::Ok,
        Exit::Error,
        Exit::Limit,
        Exit::Usage,
        Exit::Output,
        Exit::HungUp,
        Exit::Interrupted,
        Exit::Closed,
        Exit::Terminated,
    ];

    #[test]
    fn the_documented_table_has_every_exit_code_once() {
        let document = include_str!("../../../docs/headless.md");
        let (_, section) = document.split_once("## Exit codes").expect("there is a section");
        let table = section.split("\n## ").next().unwrap_or_default();
        let number = |line: &str| line.strip_prefix("| ")?.split(' ').next()?.parse::<u8>().ok();
        let documented: Vec<_> = table.lines().filter_map(number).collect();
        assert_eq!(documented, ALL.map(Exit::code));
    }

    #[test]
    fn an_error_keeps_its_exit_code_under_added_context() {
        let closed = StdoutError::new(&std::io::ErrorKind::StorageFull.into());
        for (error, exit) in [
            (usage("no"), Exit::Usage),
            (usage("no").context("yes"), Exit::Usage),
            (std::io::Error::from(closed.clone()).into(), Exit::Output),
            (anyhow::Error::from(closed).context("yes"), Exit::Output),
            (anyhow::anyhow!("no"), Exit::Error),
        ] {
            assert_eq!(Exit::of(&error), exit, "{error:#}");
        }
    }
}
