//! The latency of a cancel while all other sessions stream text at full speed.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::script::Script;
use super::{Bench, open, prompt};
use crate::peers::client::PATIENCE;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::time::{Duration, Instant};

/// Sessions that stream concurrently.
const SESSIONS: usize = 30;
/// Cancels per run of the bench, so that all runs together support a 99th percentile.
const CANCELS: usize = 30;

/// Spare sessions, for responses that reach their length limit before the cancel.
const SPARE: usize = 100;

/// Measures the time from `session/cancel` to the response of the prompt, with [`SESSIONS`]
/// sessions whose models write at full speed.
pub(super) fn cancel(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut agent = bench.ready()?;
    let cancels = bench.runs * CANCELS;
    let mut fresh = Vec::new();
    for _ in 0..2 * SESSIONS + cancels + SPARE {
        fresh.push(open(&mut agent)?.0);
    }
    let mut sessions = LoadedSessions { fresh, streaming: Vec::new() };
    for _ in 0..SESSIONS {
        sessions.begin(&mut agent)?;
    }
    // Afterwards every session streams.
    for _ in 0..SESSIONS {
        sessions.cancel_first(&mut agent)?;
    }
    let mut times = Vec::new();
    for _ in 0..cancels {
        times.push(sessions.cancel_first(&mut agent)?);
    }
    times.sort();
    let named = |name, target: Option<f64>, time: Duration| {
        let mut figure = Figure::of(target.map_or(Quantity::time(name), |most| Quantity::ms(name, most)));
        figure.add_time(time);
        figure
    };
    let share = |percent: usize| times[(times.len() - 1) * percent / 100];
    Ok(vec![
        named("cancel to response, 30 sessions under load, p50", None, share(50)),
        named("cancel to response, 30 sessions under load, p99", Some(100.0), share(99)),
        named("cancel to response, 30 sessions under load, worst", None, share(100)),
    ])
}

/// The sessions. Each is used for one prompt, so that no conversation grows.
struct LoadedSessions {
    fresh: Vec<String>,
    /// The sessions with a running prompt and its request id, the oldest first.
    streaming: Vec<(String, u64)>,
}

impl LoadedSessions {
    /// Starts a prompt in another session.
    fn begin(&mut self, agent: &mut Agent) -> Result<()> {
        let session = self.fresh.pop().context("too many answers ended by themselves")?;
        let request = agent.client.send("session/prompt", &prompt(&session, Script::Flood))?.id;
        self.streaming.push((session, request));
        Ok(())
    }

    /// Cancels the longest-running turn and starts another; returns how long the cancel took.
    fn cancel_first(&mut self, agent: &mut Agent) -> Result<Duration> {
        loop {
            let (session, request) = self.streaming[0].clone();
            let sent = Instant::now();
            agent.client.notify("session/cancel", &json!({ "sessionId": session }))?;
            loop {
                let response = agent.client.next_response(PATIENCE)?;
                self.streaming.retain(|(_, request)| *request != response.id);
                self.begin(agent)?;
                match response.result["stopReason"].as_str() {
                    Some("cancelled") if response.id == request => return Ok(response.at - sent),
                    // The response reached its length limit before the cancel.
                    Some("max_tokens") if response.id == request => break,
                    Some("max_tokens") => {}
                    other => bail!("a turn ended with {other:?}"),
                }
            }
        }
    }
}
