//! What a read or a write through the editor adds to the editor's own time.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, model_time, open};
use anyhow::{Result, bail};
use std::time::Duration;

/// One turn's own time, less the model's and the editor's, and how many calls of the editor it made.
struct Turn {
    time: Duration,
    calls: usize,
}

/// Each call of the editor, against a turn with as many tool calls that ask it nothing.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut read = Figure::of(Quantity::ms("delegated read, less the editor's time", 0.2));
    let mut write = Figure::of(Quantity::ms("delegated write, less the editor's time", 0.2));
    let mut agent = bench.ready()?;
    run(bench, &mut agent, Script::Reads)?;
    for _ in 0..bench.runs {
        let nothing = run(bench, &mut agent, Script::Lookups)?;
        for (figure, script) in [(&mut read, Script::Reads), (&mut write, Script::Writes)] {
            let turn = run(bench, &mut agent, script)?;
            if turn.calls == 0 {
                bail!("the turn did not ask the editor for anything");
            }
            let calls = u32::try_from(turn.calls)?;
            figure.add_time(turn.time.saturating_sub(nothing.time) / calls);
        }
    }
    Ok(vec![read, write])
}

fn run(bench: &Bench<'_>, agent: &mut Agent, script: Script) -> Result<Turn> {
    let (session, _) = open(agent)?;
    let asked = |agent: &Agent| FILES.map(|method| agent.client.asked(method)).iter().sum::<usize>();
    let (calls, editor) = (asked(agent), agent.client.editor_time());
    let (reply, events) = bench.turn(agent, &session, script)?;
    let elsewhere = model_time(&events) + (agent.client.editor_time() - editor);
    Ok(Turn { time: reply.took().saturating_sub(elsewhere), calls: asked(agent) - calls })
}

const FILES: [&str; 2] = ["fs/read_text_file", "fs/write_text_file"];
