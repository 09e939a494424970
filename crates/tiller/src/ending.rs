//! The end of the process: flushes the standard streams and settles the exit code.

use crate::{
    exit::Exit,
    limits, signals,
    streams::{self, Rest, Unwritten},
};
use std::io::Write;

/// Waits until standard output is written, reports an error and returns the exit code.
///
/// A signal ends the wait, and so does the time limit of a run.
pub(crate) fn settle(ended: anyhow::Result<Exit>) -> Exit {
    if signals::received().is_some() {
        streams::hurry();
    }
    let rest = streams::finish_stdout();
    let unwritten = match &rest {
        Rest::Failed(why) => Some(why.clone()),
        Rest::Written | Rest::GivenUp => None,
    };
    let exit = match (signals::received(), &unwritten, &ended) {
        (Some(signal), _, _) => signal,
        (None, Some(why), _) => Exit::from(why),
        (None, None, Ok(Exit::Ok)) if matches!(rest, Rest::GivenUp) => Exit::Limit,
        (None, None, Ok(exit)) => *exit,
        (None, None, Err(error)) => Exit::of(error),
    };
    if let Err(error) = ended {
        // A failure of standard output is reported once, and not at all when a signal is the reason
        // for the end.
        let is_told = match Unwritten::caused(&error) {
            true => exit == Exit::Output && unwritten.is_none(),
            false => exit != Exit::Closed,
        };
        if is_told {
            tell(&format!("{error:#}"));
        }
    }
    if let Some(why) = unwritten
        && exit == Exit::Output
    {
        tell(&why.to_string());
    }
    streams::finish_stderr(limits::LAST_WORDS);
    exit
}

/// Prints an error on standard error.
fn tell(what: &str) {
    // A closed stderr leaves no way to report anything.
    let _ = crate::screen::stderr().write_all(format!("tiller: {what}\n").as_bytes());
}
