//! Long stored sessions.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::super::window::Window;
use super::tui::{SETTLED, STATUS};
use super::{Bench, open};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Turns of calls that produce a session of about 10,000 events.
const TURNS: usize = 80;
/// How often these events are repeated in a session of about 100,000.
const TIMES: usize = 10;
/// Opens the transcript.
const TRANSCRIPT: &str = "\u{f}";
/// How long a change of the size must last before the interface takes it.
const RESIZE_PAUSE: Duration = Duration::from_millis(50);

/// Measures a session of 10,000 events: opening it, searching in it and changing its size.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut first = Figure::of(Quantity::ms("interface, open 10,000 events, first frame", 80.0));
    let mut memory = Figure::of(Quantity::mib("… memory for it", 25.0));
    let mut search = Figure::of(Quantity::ms("… first hit of a search in it", 30.0));
    let mut resize = Figure::of(Quantity::ms("… change of the size in the transcript", 16.0));
    let (agent, session, before) = stored(bench, TURNS)?;
    for _ in 0..bench.runs.min(5) {
        let mut window = Window::start(agent.in_terminal(&["--session", &session]))?;
        first.add_time(window.wait_for(Script::Lookups.word(), 0)? - window.started);
        window.wait_for(STATUS, 0)?;
        window.listen(SETTLED)?;
        memory.add(window.resident()?.saturating_sub(before) as f64 / 1024.0);

        let from = window.written.len();
        window.keys(TRANSCRIPT)?;
        window.wait_for("q back", from)?;
        window.keys("/")?;
        window.listen(SETTLED)?;
        let from = window.written.len();
        let pressed = window.keys("b")?;
        search.add_time(window.wait_for(" of ", from)? - pressed);
        window.keys("ench:lookups\r")?;
        window.listen(SETTLED)?;

        let from = window.written.len();
        let resized = window.resize(100, 30)?;
        let drawn = window.wait_for("transcript", from)? - resized;
        resize.add_time(drawn.saturating_sub(RESIZE_PAUSE));
    }
    Ok(vec![first, memory, search, resize])
}

/// Measures the memory of a session of 100,000 events.
pub(super) fn huge(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut first = Figure::of(Quantity::time("interface, open 100,000 events, first frame"));
    let mut memory = Figure::of(Quantity::mib("… memory for it", 60.0));
    let (agent, session, before) = stored(bench, TURNS)?;
    let session = repeated(&agent, &session)?;
    for _ in 0..bench.runs.min(3) {
        let mut window = Window::start(agent.in_terminal(&["--session", &session]))?;
        first.add_time(window.wait_for(Script::Lookups.word(), 0)? - window.started);
        window.listen(4 * SETTLED)?;
        memory.add(window.resident()?.saturating_sub(before) as f64 / 1024.0);
    }
    Ok(vec![first, memory])
}

/// Imports a session that has the events of another one ten times, each time with ids of its own.
/// Turns would take minutes, since each request repeats the conversation.
fn repeated(agent: &Agent, session: &str) -> Result<String> {
    let exported = agent.run(&["sessions", "export", session])?;
    let mut lines = exported.lines();
    let mut text = format!("{}\n", lines.next().context("an export has a head")?);
    let events: Vec<&str> = lines.collect();
    let mut number = 0;
    for time in 0..TIMES {
        for event in &events {
            let (event, _) = event.rsplit_once(",\"seq\":").context("an event has a number")?;
            number += 1;
            let event = ["run_", "msg_", "call_"].iter().fold(event.to_owned(), |event, id| {
                event.replace(&format!("\"{id}"), &format!("\"{time}_{id}"))
            });
            writeln!(text, "{event},\"seq\":{number}}}")?;
        }
    }
    let file = Path::new(&agent.project()).join("long.json");
    fs::write(&file, text)?;
    let file = file.to_string_lossy();
    let answer = agent.run(&["sessions", "import", &file, "--cwd", &agent.project(), "--json"])?;
    let answer: Value = serde_json::from_str(&answer)?;
    Ok(answer["id"].as_str().with_context(|| format!("an import has an id: {answer}"))?.to_owned())
}

/// Stores a session of turns with calls; returns it with the memory in KiB of an interface whose
/// session is empty.
fn stored(bench: &Bench<'_>, turns: usize) -> Result<(Agent, String, u64)> {
    let mut agent = bench.ready()?;
    let (session, _) = open(&mut agent)?;
    for _ in 0..turns {
        bench.turn(&mut agent, &session, Script::Lookups)?;
    }
    drop(agent.client.request("session/close", &json!({ "sessionId": session }))?);
    let mut empty = Window::start(agent.in_terminal(&[]))?;
    empty.wait_for(STATUS, 0)?;
    empty.listen(SETTLED)?;
    let before = empty.resident()?;
    Ok((agent, session, before))
}
