//! The time that events of the native layer add to a turn of many chunks, measured alternately with
//! and without them in one run.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, ask, introduction, open};
use anyhow::{Result, bail};
use serde_json::{Value, json};

/// Turns that are run before measuring.
const WARM_UP: usize = 2;

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut added = Figure::of(Quantity::percent("events: added to a burst of 5,000 chunks", 3.0));
    let mut wall = Figure::of(Quantity::time("burst of 5,000 chunks with events"));
    let mut messages = Figure::of(Quantity::count("burst with events, messages of theirs"));
    let mut off = ready(bench, &json!({}))?;
    let mut on = ready(bench, &json!({ "_meta": { "tiller": { "events": true } } }))?;
    for run in 0..WARM_UP + bench.runs {
        // Alternate the order, since the second one benefits from the caches that the first has
        // filled.
        let (without, with) = if run % 2 == 0 {
            let without = turn(bench, &mut off)?;
            (without, turn(bench, &mut on)?)
        } else {
            let with = turn(bench, &mut on)?;
            (turn(bench, &mut off)?, with)
        };
        if without.1 > 0 || with.1 == 0 {
            bail!(
                "{} events were sent to a client that did not request them, {} to one that did",
                without.1,
                with.1
            );
        }
        if run >= WARM_UP {
            added.add((with.0 - without.0) / without.0 * 100.0);
            wall.add(with.0);
            messages.add(with.1 as f64);
        }
    }
    Ok(vec![added, wall, messages])
}

fn ready(bench: &Bench<'_>, capabilities: &Value) -> Result<Agent> {
    let mut agent = bench.agent()?;
    ask(&mut agent, "initialize", &introduction(capabilities))?;
    Ok(agent)
}

/// Returns the milliseconds that a turn took, and the number of events.
fn turn(bench: &Bench<'_>, agent: &mut Agent) -> Result<(f64, usize)> {
    let (session, _) = open(agent)?;
    let (reply, _) = bench.turn(agent, &session, Script::Burst)?;
    Ok((reply.took().as_secs_f64() * 1e3, reply.events))
}
