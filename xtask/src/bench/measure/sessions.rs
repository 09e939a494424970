//! A store with many sessions, and one with many bytes.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, ask, open};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::Path;

/// Sessions in the first store, with a turn each.
const SESSIONS: usize = 10_000;
/// The second store: imported files, results of calls in each file, and bytes per result, 1 GiB in
/// total.
const FILES: usize = 5;
const RESULTS: usize = 205;
const RESULT_BYTES: usize = 1024 * 1024;
/// Memories of the project in the first store, the most that one can have.
const MEMORIES: usize = 1_000;

/// The figures of lists, and the first search, are the first request of their kind in a process.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut listed = Figure::of(Quantity::ms("list of 10,000 sessions, first page", 6.0));
    let mut found = Figure::of(Quantity::ms("search in 10,000 sessions, the first", 100.0));
    let many = many(bench)?;
    for _ in 0..bench.runs {
        let mut agent = many.again()?;
        super::initialize(&mut agent)?;
        listed.add_time(list(&mut agent)?);
        let reply = ask(&mut agent, "_tiller/sessions/search", &json!({ "query": Script::One.word() }))?;
        if reply.result["hits"].as_array().is_none_or(Vec::is_empty) {
            bail!("nothing was found: {}", reply.result);
        }
        found.add_time(reply.took());
    }
    let mut figures = vec![listed, found];
    figures.extend(recall(bench, &many)?);
    drop(many);

    let mut large = Figure::of(Quantity::ms("list of a store of 1 GiB", 5.0));
    let home = gibibyte(bench)?;
    for _ in 0..bench.runs {
        let mut agent = home.again()?;
        super::initialize(&mut agent)?;
        large.add_time(list(&mut agent)?);
    }
    figures.push(large);
    Ok(figures)
}

/// Measures searches of a running process for memories and for messages of the project's sessions,
/// as the model's tools make them. All sessions match, and all memories have one of the words.
fn recall(bench: &Bench<'_>, many: &Agent) -> Result<Vec<Figure>> {
    let mut agent = many.again()?;
    super::initialize(&mut agent)?;
    let (session, _) = open(&mut agent)?;
    for number in 0..MEMORIES {
        let memory = json!({
            "sessionId": session, "type": "project", "title": format!("Module {number}"),
            "content": format!("The parser of module {number} reads dates."),
        });
        ask(&mut agent, "_tiller/memories/save", &memory)?;
    }
    let mut memories = Figure::of(Quantity::ms("memory search, 10,000 sessions", 20.0));
    let mut sessions = Figure::of(Quantity::ms("session search, 10,000 sessions", 20.0));
    for number in 0..bench.runs {
        let query = json!({ "sessionId": session, "query": format!("parser module {number}"), "limit": 20 });
        let reply = ask(&mut agent, "_tiller/memories/list", &query)?;
        if reply.result["memories"].as_array().is_none_or(Vec::is_empty) {
            bail!("no memory was found: {}", reply.result);
        }
        memories.add_time(reply.took());
        let query = json!({ "query": Script::One.word(), "cwd": agent.project(), "limit": 10 });
        let reply = ask(&mut agent, "_tiller/sessions/search", &query)?;
        if reply.result["hits"].as_array().is_none_or(|hits| hits.len() < 10) {
            bail!("too little was found: {}", reply.result);
        }
        sessions.add_time(reply.took());
    }
    Ok(vec![memories, sessions])
}

fn list(agent: &mut Agent) -> Result<std::time::Duration> {
    let reply = ask(agent, "session/list", &json!({}))?;
    if reply.result["sessions"].as_array().is_none_or(Vec::is_empty) {
        bail!("no session was listed: {}", reply.result);
    }
    Ok(reply.took())
}

/// Creates a home directory with many sessions.
fn many(bench: &Bench<'_>) -> Result<Agent> {
    let mut agent = bench.ready()?;
    for _ in 0..SESSIONS {
        let (session, _) = open(&mut agent)?;
        bench.turn(&mut agent, &session, Script::One)?;
        ask(&mut agent, "session/close", &json!({ "sessionId": session }))?;
    }
    Ok(agent)
}

/// Creates a home directory with 1 GiB of results.
fn gibibyte(bench: &Bench<'_>) -> Result<Agent> {
    let mut agent = bench.ready()?;
    let (session, _) = open(&mut agent)?;
    bench.turn(&mut agent, &session, Script::Lookups)?;
    ask(&mut agent, "session/close", &json!({ "sessionId": session }))?;
    let exported = agent.run(&["sessions", "export", "--format", "json", &session])?;
    let mut result: Value = exported
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|line| line.pointer("/event/result/text").is_some())
        .context("no call has a result")?;
    result["event"]["result"]["text"] = "x".repeat(RESULT_BYTES).into();
    let file = Path::new(&agent.project()).join("large.jsonl");
    std::fs::write(&file, format!("{exported}{}", format!("{result}\n").repeat(RESULTS)))?;
    for _ in 0..FILES {
        agent.run(&["sessions", "import", &file.to_string_lossy()])?;
    }
    // Imported data moves from the write-ahead log to the database file after the next write; the
    // second turn waits for that.
    let (session, _) = open(&mut agent)?;
    for _ in 0..2 {
        bench.turn(&mut agent, &session, Script::One)?;
    }
    Ok(agent)
}
