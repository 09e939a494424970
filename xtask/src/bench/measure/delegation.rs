//! The time that a read or write through the editor adds to the editor's own time.
//!
//! A turn calls the same tool repeatedly. Measured is the time from the model's response with the
//! call to the next request with its result, less the editor's own time. It is compared with a tool
//! that neither asks the editor nor touches a file, so that the file-system checks of every call
//! cancel out, and with the same tool in a session without delegation.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::model_server::Event;
use super::super::script::Script;
use super::{Bench, initialize_with, open};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::time::{Duration, Instant};

/// A tool call: its time less the editor's, and the number of requests to the editor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) time: Duration,
    editor_requests: u32,
}

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut read = Figure::of(Quantity::ms("delegated read, less the editor's time", 0.2));
    let mut write =
        Figure::of(Quantity::ms("delegated write, less the editor's time, for each question to it", 0.2));
    let mut read_more =
        Figure::of(Quantity::ms("... the read, less the same read where nothing is delegated", 0.2));
    let mut write_more =
        Figure::of(Quantity::ms("... the write, less the same write where nothing is delegated", 0.2));
    let mut bare = Figure::of(Quantity {
        target: None,
        ..Quantity::ms("... a bare question and answer over the same pipes", 0.2)
    });
    let mut through = ready(bench, true)?;
    let mut alone = ready(bench, false)?;
    for _ in 0..bench.runs {
        bare.add_time(round_trip(&mut through));
        let nothing = call(bench, &mut through, Script::Lookups)?;
        let figures =
            [(Script::Reads, &mut read, &mut read_more), (Script::Writes, &mut write, &mut write_more)];
        for (script, added, more) in figures {
            let (delegated, local) = (call(bench, &mut through, script)?, call(bench, &mut alone, script)?);
            if delegated.editor_requests == 0 || local.editor_requests > 0 {
                bail!(
                    "the editor was asked {} and {} times",
                    delegated.editor_requests,
                    local.editor_requests
                );
            }
            added.add_difference([
                delegated.time / delegated.editor_requests,
                nothing.time / delegated.editor_requests,
            ]);
            more.add_difference([delegated.time, local.time]);
        }
    }
    Ok(vec![read, write, read_more, write_more, bare])
}

/// Returns the median time of a trivial request, including waking up both processes: the lower
/// bound of a delegated call. The pause before each request is like the one between the calls of a
/// turn.
fn round_trip(agent: &mut Agent) -> Duration {
    let mut times: Vec<_> = (0..15)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(2));
            let started = Instant::now();
            // The response is an error, which serves as well as any other.
            let _ = agent.client.request("nothing/at/all", &json!({}));
            started.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Starts an agent whose editor offers files, or not.
fn ready(bench: &Bench<'_>, files: bool) -> Result<Agent> {
    let mut agent = bench.agent()?;
    initialize_with(&mut agent, files, true)?;
    call(bench, &mut agent, Script::Reads)?;
    Ok(agent)
}

/// Returns the median of the calls of one turn.
fn call(bench: &Bench<'_>, agent: &mut Agent, script: Script) -> Result<Call> {
    let (session, _) = open(agent)?;
    agent.client.host().times();
    let (_, events) = bench.turn(agent, &session, script)?;
    let mut calls = calls(&events, &agent.client.host().times());
    calls.sort();
    calls.get(calls.len() / 2).copied().context("the turn called nothing")
}

/// Returns the intervals between the model's responses and the requests that follow them.
pub(super) fn calls(events: &[Event], editor: &[(Instant, Duration)]) -> Vec<Call> {
    let between = |pair: &[Event]| match pair {
        [Event::Answered { done, .. }, Event::Answered { received, .. }] => {
            let editor_requests: Vec<_> =
                editor.iter().filter(|(at, _)| (done..received).contains(&at)).collect();
            let answering = editor_requests.iter().map(|(_, took)| *took).sum();
            let time = received.duration_since(*done).saturating_sub(answering);
            Some(Call { time, editor_requests: u32::try_from(editor_requests.len()).ok()? })
        }
        _ => None,
    };
    events.windows(2).filter_map(between).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calls_time_excludes_the_editors_responses() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let answered = |from, to| Event::Answered { received: at(from), sent: Vec::new(), done: at(to) };
        let events = [answered(0, 10), answered(30, 35), answered(40, 50)];
        let editor = [(at(5), Duration::from_millis(1)), (at(12), Duration::from_millis(3))];
        let call = |ms, editor_requests| Call { time: Duration::from_millis(ms), editor_requests };
        assert_eq!(calls(&events, &editor), [call(17, 1), call(5, 0)]);
    }
}
