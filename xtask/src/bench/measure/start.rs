//! From start to first turn, in a new process with an empty home directory each time.

use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, initialize, open};
use anyhow::Result;

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut initialized = Figure::of(Quantity::ms("spawn to initialize response", 5.0));
    let mut opened = Figure::of(Quantity::ms("session/new, first of the process", 1.0));
    let mut turned = Figure::of(Quantity::ms("spawn to first turn done", 25.0));
    let mut resident = Figure::of(Quantity::mib("memory after the first turn", 20.0));
    for _ in 0..bench.runs {
        let mut agent = bench.agent()?;
        initialized.add_time(initialize(&mut agent)?.answered - agent.started);
        let (session, reply) = open(&mut agent)?;
        opened.add_time(reply.took());
        let (reply, _) = bench.turn(&mut agent, &session, Script::One)?;
        turned.add_time(reply.answered - agent.started);
        resident.add(agent.resident()? as f64 / 1024.0);
    }
    Ok(vec![initialized, opened, turned, resident])
}
