//! The end of the process: flushes the standard streams and settles the exit code.

use crate::{
    exit::{Exit, PrintedError},
    limits, signals,
    streams::{self, QueueOutcome, StdoutError},
};
use std::io::Write;

/// Waits until standard output is written, reports an error and returns the exit code.
///
/// A signal ends the wait, and so does the time limit of a run.
pub(crate) fn finish(ended: anyhow::Result<Exit>) -> Exit {
    if signals::received().is_some() {
        streams::limit_last_writes();
    }
    let rest = streams::finish_stdout();
    let unwritten = match &rest {
        QueueOutcome::Failed(why) => Some(why.clone()),
        QueueOutcome::Written | QueueOutcome::GivenUp => None,
    };
    let exit = match (signals::received(), &unwritten, &ended) {
        (Some(signal), _, _) => signal,
        (None, Some(why), _) => Exit::from(why),
        (None, None, Ok(Exit::Ok)) if matches!(rest, QueueOutcome::GivenUp) => Exit::Limit,
        (None, None, Ok(exit)) => *exit,
        (None, None, Err(error)) => crate::failure::exit_of(error),
    };
    if let Err(error) = ended {
        // A failure of standard output is reported once, and not at all when a signal is the reason
        // for the end.
        let is_reported = match StdoutError::caused(&error) {
            true => exit == Exit::Output && unwritten.is_none(),
            false => exit != Exit::Closed,
        };
        if is_reported {
            match error.downcast_ref::<PrintedError>() {
                Some(PrintedError { text, .. }) => print(text),
                None => print_error(&format!("{error:#}")),
            }
        }
    }
    if let Some(why) = unwritten
        && exit == Exit::Output
    {
        print_error(&why.to_string());
    }
    streams::finish_stderr(limits::LAST_WRITES);
    exit
}

/// Prints an error as it is, with its colours; its text was sanitised when it was rendered.
fn print(text: &str) {
    // A closed stderr leaves no way to report anything.
    let _ = streams::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Prints an error on standard error.
fn print_error(what: &str) {
    // A closed stderr leaves no way to report anything.
    let _ = crate::screen::stderr().write_all(format!("tiller: {what}\n").as_bytes());
}
