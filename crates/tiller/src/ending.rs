//! The end of the process: what it still has to say is written, and its exit code is settled.

use crate::{
    exit::Exit,
    limits, signals,
    streams::{self, Rest, Unwritten},
};
use std::io::Write;

/// Waits for the readers of what was printed, tells of an error, and returns what the process ends
/// with. A signal ends the waiting, and so does the time limit of a run.
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
        // What is about standard output is told once, and not at all where a signal is the reason.
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

/// Tells of an error on standard error.
fn tell(what: &str) {
    // Nothing to do about a stderr that is closed.
    let _ = crate::screen::stderr().write_all(format!("tiller: {what}\n").as_bytes());
}
