//! The memory of open sessions.

use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, open};
use anyhow::Result;

/// Sessions opened to determine the cost of one.
const SESSIONS: u32 = 100;
/// Sessions that are open together.
const CROWD: usize = 1_000;

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut figure = Figure::of(Quantity::mib("memory per further session", 0.1));
    for _ in 0..bench.runs.min(3) {
        let mut agent = bench.ready()?;
        let (session, _) = open(&mut agent)?;
        bench.turn(&mut agent, &session, Script::One)?;
        let before = agent.resident()?;
        for _ in 0..SESSIONS {
            open(&mut agent)?;
        }
        let grown = agent.resident()?.saturating_sub(before);
        figure.add(grown as f64 / 1024.0 / f64::from(SESSIONS));
    }
    let mut figures = vec![figure];
    figures.extend(memory_of_sessions(bench)?);
    Ok(figures)
}

/// Measures the memory of the process with many open sessions, and again after a turn in each.
fn memory_of_sessions(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut opened = Figure::of(Quantity::mib("memory with 1,000 sessions open", 43.0));
    let mut used = Figure::of(Quantity::mib("… after a turn in each of them", 90.0));
    let mut agent = bench.ready()?;
    let sessions = (0..CROWD).map(|_| Ok(open(&mut agent)?.0)).collect::<Result<Vec<_>>>()?;
    opened.add(agent.resident()? as f64 / 1024.0);
    for session in &sessions {
        bench.turn(&mut agent, session, Script::One)?;
    }
    used.add(agent.resident()? as f64 / 1024.0);
    Ok(vec![opened, used])
}
