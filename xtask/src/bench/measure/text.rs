//! Streamed text: a burst, and chunks at reading speed. No text may be lost or reordered.

use super::super::figure::{Figure, Quantity};
use super::super::model_server::Event;
use super::super::script::{BURST, PACED, Script, marker};
use super::{Bench, open};
use crate::peers::client::{Reply, Update};
use anyhow::{Context, Result, bail};
use std::time::Instant;

/// Measures a burst: its duration, its processor time, and whether it is streamed.
pub(super) fn burst(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut wall = Figure::of(Quantity::ms("burst of 5,000 chunks", 50.0));
    let mut first = Figure::of(Quantity::ms("burst, prompt to first text", 3.0));
    let mut cpu = Figure::of(Quantity::ms("burst, processor time (steps of 10)", 50.0));
    let mut mean = Figure::of(Quantity::ms("burst, processor time, mean of all", 50.0));
    let mut messages = Figure::of(Quantity::count("burst, session/update messages"));
    let mut agent = bench.ready()?;
    let start = agent.cpu()?;
    for _ in 0..bench.runs {
        let (session, _) = open(&mut agent)?;
        let before = agent.cpu()?;
        let (reply, _) = bench.turn(&mut agent, &session, Script::Burst)?;
        cpu.add_time(agent.cpu()?.saturating_sub(before));
        wall.add_time(reply.took());
        first.add_time(arrivals(&reply, BURST)?[0] - reply.sent);
        messages.add(reply.updates.len() as f64);
    }
    mean.add((agent.cpu()? - start).as_secs_f64() * 1e3 / bench.runs as f64);
    Ok(vec![wall, first, cpu, mean, messages])
}

/// Measures the latency of a chunk from model server to editor, at a rate that leaves time for
/// each.
pub(super) fn paced(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut latency = Figure::of(Quantity::ms("latency of a chunk at reading speed", 0.3));
    let mut agent = bench.ready()?;
    for _ in 0..bench.runs.min(3) {
        let (session, _) = open(&mut agent)?;
        let (reply, events) = bench.turn(&mut agent, &session, Script::Paced)?;
        let answer = events.iter().find_map(|event| match event {
            Event::Answered { sent, .. } => Some(sent),
            Event::Hanging => None,
        });
        let sent = answer.context("the model server was not asked")?;
        for (arrived, sent) in arrivals(&reply, PACED)?.into_iter().zip(sent) {
            latency.add_time(arrived.saturating_duration_since(*sent));
        }
    }
    Ok(vec![latency])
}

/// Returns when each marker had arrived. Chunks may be merged, but all text must arrive in order.
fn arrivals(reply: &Reply, count: usize) -> Result<Vec<Instant>> {
    let length = marker(0).len();
    let (mut text, mut arrivals) = (String::new(), Vec::with_capacity(count));
    for Update { at, update } in &reply.updates {
        if update["sessionUpdate"] == "agent_message_chunk" {
            text += update["content"]["text"].as_str().unwrap_or_default();
            arrivals.resize(text.len() / length, *at);
        }
    }
    let whole: String = (0..count).map(marker).collect();
    if text != whole {
        bail!("of {} bytes of text sent, {} came, or in another order", whole.len(), text.len());
    }
    Ok(arrivals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::time::Duration;

    fn reply(texts: &[&str]) -> Reply {
        let now = Instant::now();
        let update = |(index, text): (usize, &&str)| {
            let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
            Update { at: now + Duration::from_millis(index as u64), update }
        };
        let updates = texts.iter().enumerate().map(update).collect();
        Reply { sent: now, answered: now, result: Value::Null, updates, events: 0 }
    }

    #[test]
    fn merged_chunks_arrive_together() {
        let reply = reply(&["w00000 ", "w00001 w00002 "]);
        let after: Vec<_> =
            arrivals(&reply, 3).unwrap().iter().map(|at| (*at - reply.sent).as_millis()).collect();
        assert_eq!(after, [0, 1, 1]);
    }

    #[test]
    fn lost_or_shuffled_text_is_an_error() {
        assert!(arrivals(&reply(&["w00000 "]), 2).is_err());
        assert!(arrivals(&reply(&["w00001 ", "w00000 "]), 2).is_err());
    }
}
