//! What one more open session costs.

use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, open};
use anyhow::Result;

/// How many sessions are opened; the cost of one is the hundredth part.
const SESSIONS: u32 = 100;

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
    Ok(vec![figure])
}
