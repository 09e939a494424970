//! A long session played back from the store.

use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, ask, open};
use anyhow::{Context, Result, bail};
use serde_json::json;

/// Turns of calls that make a session of about 10,000 events.
const TURNS: usize = 80;
/// Fewer updates than this, and it was not that session.
const UPDATES: usize = 4_000;

/// The session is closed before each load, so that nothing of it is in memory.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut first = Figure::of(Quantity::ms("load of 10,000 events, first update", 50.0));
    let mut whole = Figure::of(Quantity::time("load of 10,000 events, whole"));
    let mut memory = Figure::of(Quantity::mib("memory that loading it adds", 5.0));
    let mut agent = bench.ready()?;
    let (session, _) = open(&mut agent)?;
    for _ in 0..TURNS {
        bench.turn(&mut agent, &session, Script::Lookups)?;
    }
    drop(agent.client.request("session/close", &json!({ "sessionId": session }))?);
    let agent = &mut agent.again()?;
    super::initialize(agent)?;
    for run in 0..bench.runs {
        let before = agent.resident()?;
        let params = json!({ "sessionId": session, "cwd": agent.project(), "mcpServers": [] });
        let reply = ask(agent, "session/load", &params)?;
        if reply.updates.len() < UPDATES {
            bail!("only {} updates came of the load", reply.updates.len());
        }
        let update = reply.updates.first().context("nothing was played back")?;
        first.add_time(update.at - reply.asked);
        whole.add_time(reply.took());
        // Later loads find the memory of the first one free.
        if run == 0 {
            memory.add(agent.resident()?.saturating_sub(before) as f64 / 1024.0);
        }
        ask(agent, "session/close", &json!({ "sessionId": session }))?;
    }
    Ok(vec![first, whole, memory])
}
