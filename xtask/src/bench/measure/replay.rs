//! Loading a long session from the store.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, ask, open};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::Path;

/// Turns of calls that produce a session of about 10,000 events.
const TURNS: usize = 80;
/// The minimum number of updates; fewer mean that it was another session.
const UPDATES: usize = 4_000;
/// Factor for the longer session: about 100,000 events.
const TIMES: usize = 10;

/// The session is closed before each load, so that none of it is in memory.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut agent = bench.ready()?;
    let (session, _) = open(&mut agent)?;
    for _ in 0..TURNS {
        bench.turn(&mut agent, &session, Script::Lookups)?;
    }
    drop(agent.client.request("session/close", &json!({ "sessionId": session }))?);
    let mut stored = Figure::of(Quantity::count("bytes stored of an event"));
    let before = agent.stored_bytes()?;
    let (longer, events) = repeated(&agent, &session)?;
    stored.add(agent.stored_bytes()?.saturating_sub(before) as f64 / events as f64);

    let mut figures = vec![
        Figure::of(Quantity::ms("load of 10,000 events, first update", 50.0)),
        Figure::of(Quantity::time("load of 10,000 events, whole")),
        Figure::of(Quantity::mib("memory that loading it adds", 5.0)),
    ];
    load(bench, &agent, &session, UPDATES, &mut figures)?;
    let mut longer_figures = vec![
        Figure::of(Quantity::ms("load of 100,000 events, first update", 50.0)),
        Figure::of(Quantity::ms("load of 100,000 events, whole", 1_000.0)),
        Figure::of(Quantity::mib("memory that loading it adds, of 100,000 events", 5.0)),
    ];
    load(bench, &agent, &longer, UPDATES * TIMES, &mut longer_figures)?;
    figures.extend(longer_figures);
    figures.push(stored);
    Ok(figures)
}

/// Stores a session that repeats all events of another [`TIMES`] times; returns its id and its
/// number of events.
fn repeated(agent: &Agent, session: &str) -> Result<(String, usize)> {
    let exported = agent.run(&["sessions", "export", "--format", "json", session])?;
    let (header, events) = exported.split_once('\n').context("nothing was exported")?;
    let file = Path::new(&agent.project()).join("longer.jsonl");
    std::fs::write(&file, format!("{header}\n{}", events.repeat(TIMES)))?;
    let id = agent.run(&["sessions", "import", &file.to_string_lossy()])?;
    Ok((id.trim().to_owned(), events.lines().count() * TIMES))
}

/// Measures the first update and the whole of `session/load`, and the memory that the first load
/// adds.
fn load(
    bench: &Bench<'_>,
    home: &Agent,
    session: &str,
    updates: usize,
    figures: &mut [Figure],
) -> Result<()> {
    let agent = &mut home.again()?;
    super::initialize(agent)?;
    for run in 0..bench.runs {
        let before = agent.resident()?;
        let params = json!({ "sessionId": session, "cwd": agent.project(), "mcpServers": [] });
        let reply = ask(agent, "session/load", &params)?;
        if reply.updates.len() < updates {
            bail!("only {} updates came of the load", reply.updates.len());
        }
        let update = reply.updates.first().context("nothing was played back")?;
        figures[0].add_time(update.at - reply.sent);
        figures[1].add_time(reply.took());
        // Later loads reuse the memory that the first one freed.
        if run == 0 {
            figures[2].add(agent.resident()?.saturating_sub(before) as f64 / 1024.0);
        }
        ask(agent, "session/close", &json!({ "sessionId": session }))?;
    }
    Ok(())
}
