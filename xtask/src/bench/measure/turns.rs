//! Turns in a warm process: one chunk, tools through the editor, a cancel.

use super::super::figure::{Figure, Quantity};
use super::super::model_server::Event;
use super::super::script::Script;
use super::{Bench, model_time, open, prompt};
use crate::peers::client::PATIENCE;
use anyhow::{Result, bail};
use serde_json::json;
use std::time::Instant;

/// Turns that are run before measuring.
const WARM_UP: usize = 3;

/// Measures what the product adds to the model's own time.
pub(super) fn one_chunk(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut opened = Figure::of(Quantity::ms("session/new, further", 1.0));
    let mut added = Figure::of(Quantity::ms("warm one-chunk turn, less the model's time", 2.0));
    let mut agent = bench.ready()?;
    let (first, _) = open(&mut agent)?;
    for _ in 0..WARM_UP {
        bench.turn(&mut agent, &first, Script::One)?;
    }
    for _ in 0..bench.runs {
        let (session, reply) = open(&mut agent)?;
        opened.add_time(reply.took());
        let (reply, events) = bench.turn(&mut agent, &session, Script::One)?;
        added.add_time(reply.took().saturating_sub(model_time(&events)));
    }
    Ok(vec![opened, added])
}

/// Measures a read, a write and a command, and checks that each went through the editor.
pub(super) fn tools(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut figure = Figure::of(Quantity::ms("read + write + shell turn through the client", 25.0));
    let mut agent = bench.ready()?;
    for run in 0..WARM_UP + bench.runs {
        let (session, _) = open(&mut agent)?;
        let before = THROUGH_THE_EDITOR.map(|method| agent.client.host().count(method));
        let (reply, _) = bench.turn(&mut agent, &session, Script::Tools)?;
        for (method, before) in THROUGH_THE_EDITOR.iter().zip(before) {
            if agent.client.host().count(method) == before {
                bail!("the turn did not ask the editor for {method}");
            }
        }
        if run >= WARM_UP {
            figure.add_time(reply.took());
        }
    }
    Ok(vec![figure])
}

const THROUGH_THE_EDITOR: [&str; 3] = ["fs/read_text_file", "fs/write_text_file", "terminal/create"];

/// Measures the time from `session/cancel` to the response of a prompt whose model has gone silent.
pub(super) fn cancel(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut figure = Figure::of(Quantity::ms("cancel to response", 2.0));
    let mut agent = bench.ready()?;
    for _ in 0..bench.runs {
        let (session, _) = open(&mut agent)?;
        let pending = agent.client.send("session/prompt", &prompt(&session, Script::Hang))?;
        if !matches!(bench.server.next(PATIENCE)?, Event::Hanging) {
            bail!("the model server answered though it was asked to hang");
        }
        let cancelled = Instant::now();
        agent.client.notify("session/cancel", &json!({ "sessionId": session }))?;
        let reply = agent.client.wait(pending)?;
        if reply.result["stopReason"] != "cancelled" {
            bail!("a cancelled turn ended with {}", reply.result);
        }
        figure.add_time(reply.answered - cancelled);
    }
    Ok(vec![figure])
}
