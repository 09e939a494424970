//! What subagents cost while they wait for their models.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::model_server::Event;
use super::super::script::{AGENTS, Script};
use super::{Bench, initialize, open, prompt};
use anyhow::{Result, bail};
use std::time::{Duration, Instant};

/// Every subagent runs at the same time.
const SETTINGS: &str = "agent.subagent_concurrency = 0\n";
/// How long the process is observed.
const OBSERVED: Duration = Duration::from_secs(5);
/// How long a subagent may take to ask its model.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut memory = Figure::of(Quantity::mib("memory per running subagent", 1.0));
    let mut processor =
        Figure::of(Quantity::percent("processor while 100 subagents wait for their models", 5.0));
    for _ in 0..bench.runs.min(3) {
        let mut agent = Agent::start_with(bench.binary, &bench.server.base_url(), SETTINGS)?;
        initialize(&mut agent)?;
        let (session, _) = open(&mut agent)?;
        bench.turn(&mut agent, &session, Script::One)?;
        let before = agent.resident()?;
        agent.client.send("session/prompt", &prompt(&session, Script::Swarm))?;
        let mut waiting = 0;
        while waiting < AGENTS {
            match bench.server.next(PATIENCE)? {
                Event::Hanging => waiting += 1,
                Event::Answered { .. } => {}
            }
        }
        let grown = agent.resident()?.saturating_sub(before);
        memory.add(grown as f64 / 1024.0 / AGENTS as f64);
        let (started, used) = (Instant::now(), agent.cpu()?);
        std::thread::sleep(OBSERVED);
        let busy = agent.cpu()?.saturating_sub(used);
        processor.add(busy.as_secs_f64() / started.elapsed().as_secs_f64() * 100.0);
        if grown == 0 {
            bail!("the subagents used no memory");
        }
    }
    Ok(vec![memory, processor])
}
