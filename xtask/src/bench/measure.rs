//! The measurements. Each is a function from a bench to its figures; a failing one does not stop
//! the others.

mod commands;
mod delegation;
mod events;
mod launches;
mod load;
mod memory;
mod network;
mod replay;
mod scripts;
mod servers;
mod sessions;
mod start;
mod subagents;
mod text;
mod tui;
mod tui_extremes;
mod tui_session;
mod tui_stream;
mod turns;

use super::child::Agent;
use super::figure::Figure;
use super::model_server::{Event, ModelServer};
use super::script::Script;
use crate::peers::client::Reply;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// The outcome of one measurement.
pub(super) struct Outcome {
    pub(super) name: &'static str,
    /// Its figures, or the reason for their absence.
    pub(super) figures: Result<Vec<Figure>, String>,
}

/// The environment of all measurements.
struct Bench<'a> {
    binary: &'a Path,
    runs: usize,
    server: ModelServer,
}

type Measurement = fn(&Bench<'_>) -> Result<Vec<Figure>>;

const ALL: &[(&str, Measurement)] = &[
    ("scripts", scripts::measure),
    ("start", start::measure),
    ("warm turn", turns::one_chunk),
    ("burst", text::burst),
    ("events", events::measure),
    ("reading speed", text::paced),
    ("tool turn", turns::tools),
    ("servers", servers::measure),
    ("delegation", delegation::measure),
    ("launches", launches::measure),
    ("large project", launches::large_project),
    ("network", network::measure),
    ("cancel", turns::cancel),
    ("cancel under load", load::cancel),
    ("memory", memory::measure),
    ("replay", replay::measure),
    ("sessions", sessions::measure),
    ("subagents", subagents::measure),
    ("commands", commands::measure),
    ("tui", tui::start),
    ("tui stream", tui_stream::measure),
    ("tui session", tui_session::measure),
    ("tui huge session", tui_session::huge),
    ("tui extremes", tui_extremes::measure),
];

/// Takes all figures, or those of the measurement `only`, `runs` times each.
///
/// # Errors
///
/// Fails if no measurement has the name.
pub(super) fn all(binary: &Path, runs: usize, only: Option<&str>) -> Result<Vec<Outcome>> {
    let wanted = |name: &str| only.is_none_or(|only| only == name);
    if !ALL.iter().any(|(name, _)| wanted(name)) {
        let names: Vec<_> = ALL.iter().map(|(name, _)| *name).collect();
        bail!("no measurement has that name; there are: {}", names.join(", "));
    }
    let one = |&(name, measurement): &(&'static str, Measurement)| {
        let figures = ModelServer::start().and_then(|server| measurement(&Bench { binary, runs, server }));
        Outcome { name, figures: figures.map_err(|error| format!("{error:#}")) }
    };
    Ok(ALL.iter().filter(|(name, _)| wanted(name)).map(one).collect())
}

impl Bench<'_> {
    fn agent(&self) -> Result<Agent> {
        Agent::start(self.binary, &self.server.base_url())
    }

    /// Starts an agent and initializes it.
    fn ready(&self) -> Result<Agent> {
        let mut agent = self.agent()?;
        initialize(&mut agent)?;
        Ok(agent)
    }

    /// Runs a complete turn; returns the response and the model server's events during it.
    fn turn(&self, agent: &mut Agent, session: &str, script: Script) -> Result<(Reply, Vec<Event>)> {
        self.server.drain();
        let reply = ask(agent, "session/prompt", &prompt(session, script))?;
        if reply.result["stopReason"] != "end_turn" {
            bail!("a turn ended with {}", reply.result);
        }
        Ok((reply, self.server.drain()))
    }
}

fn initialize(agent: &mut Agent) -> Result<Reply> {
    initialize_with(agent, true, true)
}

/// Initializes an agent. `files` and `terminal` are the editor's capabilities.
fn initialize_with(agent: &mut Agent, files: bool, terminal: bool) -> Result<Reply> {
    let fs = json!({ "readTextFile": files, "writeTextFile": files });
    ask(agent, "initialize", &introduction(&json!({ "fs": fs, "terminal": terminal })))
}

/// Returns the parameters of `initialize`, with a client name that the agent's table contains, so
/// that it does not have to probe the client first.
fn introduction(capabilities: &Value) -> Value {
    let info = json!({ "name": "acpx", "version": "0.19.1" });
    json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": capabilities })
}

/// Opens a session; returns its id and the response.
fn open(agent: &mut Agent) -> Result<(String, Reply)> {
    let reply = ask(agent, "session/new", &json!({ "cwd": agent.project(), "mcpServers": [] }))?;
    let id =
        reply.result["sessionId"].as_str().context("session/new answered without a sessionId")?.to_owned();
    Ok((id, reply))
}

fn prompt(session: &str, script: Script) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": script.word() }] })
}

/// Sends a request; an error includes the last line that the agent wrote to standard error.
fn ask(agent: &mut Agent, method: &str, params: &Value) -> Result<Reply> {
    agent.client.request(method, params).with_context(|| match agent.last_words() {
        words if words.is_empty() => method.to_owned(),
        words => format!("{method} (stderr ends with: {words})"),
    })
}

/// Returns the model server's total time, from each request to the last byte of the response.
fn model_time(events: &[Event]) -> Duration {
    let answered = |event: &Event| match event {
        Event::Answered { received, done, .. } => *done - *received,
        Event::Hanging => Duration::ZERO,
    };
    events.iter().map(answered).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_model_servers_time_is_the_sum_of_its_answers() {
        let start = Instant::now();
        let answered = |ms| Event::Answered {
            received: start,
            sent: Vec::new(),
            done: start + Duration::from_millis(ms),
        };
        assert_eq!(model_time(&[answered(2), Event::Hanging, answered(3)]), Duration::from_millis(5));
    }

    #[test]
    fn a_failed_measurement_is_reported_and_the_others_run() {
        let outcomes = all(Path::new("/nonexistent/tiller"), 1, None).unwrap();
        assert_eq!(outcomes.len(), ALL.len());
        for outcome in outcomes {
            assert!(outcome.figures.unwrap_err().contains("did not start"), "{}", outcome.name);
        }
    }

    #[test]
    fn a_measurement_is_selected_by_its_name() {
        let nowhere = Path::new("/nonexistent/tiller");
        let names = |only| {
            all(nowhere, 1, Some(only)).map(|some| some.iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names("cancel").unwrap(), vec!["cancel"]);
        assert!(names("help").unwrap_err().to_string().contains("warm turn, burst"));
    }
}
