//! A single run: one task, one agent, one seed.

use super::agent::Agent;
use super::calls;
use super::editor::{Capabilities, Editor, ShownCall};
use super::exchange::Answer;
use super::judge::judge;
use super::proxy::{Exchange, Proxy, Sampling};
use super::result::{Outcome, RunId};
use super::run_directory::RunDirectory;
use super::task::Task;
use crate::leftovers;
use crate::peers::client::{Client, Reply};
use anyhow::{Context, Result};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long an agent may take to start and open a session.
const START_TIME: Duration = Duration::from_secs(120);
/// How long it may take to end a cancelled turn.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// Characters of the answer's end that are kept.
const ANSWER_KEPT: usize = 600;

/// The environment of all runs of an evaluation.
pub(super) struct Setup {
    pub(super) agent: Agent,
    pub(super) model: String,
    pub(super) proxy: Proxy,
    pub(super) capabilities: Capabilities,
    pub(super) temperature: f64,
    /// The limit of a turn.
    pub(super) limit: Duration,
    /// The search path for programs.
    pub(super) path: String,
    pub(super) directories: Directories,
}

/// The directories of all runs of an evaluation.
pub(super) struct Directories {
    /// The directory of the run. It is the same for all runs, so that prompts which contain its
    /// path can be served from the prompt cache.
    pub(super) run: PathBuf,
    /// The directory for transcripts, if they are kept.
    pub(super) logs: Option<PathBuf>,
}

/// The course of a turn.
struct Turn {
    ended: String,
    seconds: f64,
    answer: String,
    calls: Vec<ShownCall>,
}

/// Runs a task. A failure that is not the agent's fault is recorded in the outcome.
pub(super) fn run(setup: &Setup, task: &Task, id: RunId) -> Result<Outcome> {
    let run_directory = RunDirectory::make(setup.directories.run.clone(), task, &setup.path)?;
    setup.proxy.begin(Sampling { temperature: setup.temperature, seed: id.seed });
    let mut outcome = Outcome::of(task, id);
    let turn = take_turn(setup, task, &run_directory, &outcome.id);
    let exchanges = setup.proxy.end();
    setup.keep(&outcome.id, "model", || exchanges_as_lines(&exchanges))?;
    count(&mut outcome, &exchanges, turn.as_ref().map_or(&[], |turn| &turn.calls));
    match turn {
        Err(error) => {
            let stderr = std::fs::read_to_string(run_directory.stderr()).unwrap_or_default();
            let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            outcome.broken = Some(format!("{error:#}; its last words: {last}"));
        }
        Ok(turn) => {
            let verdict = judge(task, &run_directory, &turn.answer)?;
            outcome.solved = verdict.solved();
            outcome.why = verdict.failure;
            outcome.unwanted = verdict.unwanted;
            outcome.ended = turn.ended;
            outcome.seconds = (turn.seconds * 10.0).round() / 10.0;
            let kept = turn.answer.chars().count().saturating_sub(ANSWER_KEPT);
            outcome.answer = turn.answer.chars().skip(kept).collect();
            if exchanges.is_empty() {
                outcome.broken = Some("no request reached the model through the proxy".to_owned());
            } else if let Some(error) = only_errors(&exchanges) {
                outcome.broken = Some(format!("the model server answered nothing but errors: {error}"));
            }
        }
    }
    Ok(outcome)
}

impl Setup {
    /// Writes a log of a run, if logs are enabled.
    fn keep(&self, id: &RunId, what: &str, text: impl FnOnce() -> String) -> Result<()> {
        let Some(directory) = &self.directories.logs else { return Ok(()) };
        std::fs::create_dir_all(directory)?;
        Ok(std::fs::write(
            directory.join(format!("{}-{}-{}-{what}.jsonl", id.agent, id.task, id.seed)),
            text(),
        )?)
    }
}

/// Starts the agent and sends the prompt.
fn take_turn(setup: &Setup, task: &Task, run_directory: &RunDirectory, id: &RunId) -> Result<Turn> {
    let mut command = setup.agent.prepare(run_directory, &setup.proxy.origin(), &setup.model)?;
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(run_directory.stderr())?);
    let editor = Editor::new(&command);
    let mut child = command.spawn().with_context(|| format!("{} does not start", program_name(&command)))?;
    let stdout = child.stdout.take().context("no stdout")?;
    let stdin = child.stdin.take().context("no stdin")?;
    let mut client = Client::new(stdout, stdin, editor);
    let turn = run_session(setup, task, run_directory, &mut client);
    client.hang_up();
    client.host().kill_terminals();
    leftovers::kill_group(child.id());
    child.wait()?;
    run_directory.end_processes();
    client.drain(CANCEL_TIME);
    setup.keep(id, "agent", || client.host().log.clone())?;
    turn
}

fn program_name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn run_session(
    setup: &Setup,
    task: &Task,
    run_directory: &RunDirectory,
    client: &mut Client<Editor>,
) -> Result<Turn> {
    let end = Instant::now() + START_TIME;
    let mut ask = |method: &str, params| -> Result<Reply> {
        let sent = client.send(method, &params);
        sent.and_then(|pending| client.wait_until(pending, end)).with_context(|| method.to_owned())
    };
    ask(
        "initialize",
        json!({
            "protocolVersion": 1,
            "clientCapabilities": setup.capabilities.to_json(),
            "clientInfo": { "name": "evaluation", "version": env!("CARGO_PKG_VERSION") },
        }),
    )?;
    if let Some(method) = &setup.agent.authenticate {
        ask("authenticate", json!({ "methodId": method }))?;
    }
    let session = ask("session/new", json!({ "cwd": run_directory.project(), "mcpServers": [] }))?.result;
    let session = session["sessionId"].as_str().context("session/new gave no session")?.to_owned();

    // Text from before the prompt is not the answer.
    client.host().discard_text();
    let prompt = json!([{ "type": "text", "text": task.prompt }]);
    let pending = client.send("session/prompt", &json!({ "sessionId": session, "prompt": prompt }))?;
    let began = Instant::now();
    let number = pending.id;
    let ended = match client.wait_until(pending, began + setup.limit) {
        Ok(reply) => reply.result["stopReason"].as_str().unwrap_or("unknown").to_owned(),
        Err(_) if began.elapsed() >= setup.limit => {
            client.notify("session/cancel", &json!({ "sessionId": session })).ok();
            // If the agent does not end its turn, it is killed with the run.
            client.next_response(CANCEL_TIME).ok().filter(|response| response.id == number);
            "timeout".to_owned()
        }
        // An error response, or an agent that exited early.
        Err(error) => format!("{error:#}"),
    };
    let seconds = began.elapsed().as_secs_f64();
    let host = client.host();
    Ok(Turn { ended, seconds, answer: host.answer().to_owned(), calls: host.calls.clone() })
}

/// Counts tokens, calls and edits.
fn count(outcome: &mut Outcome, exchanges: &[Exchange], shown_calls: &[ShownCall]) {
    for (place, exchange) in exchanges.iter().enumerate() {
        let answer = Answer::read(exchange);
        outcome.rounds += u64::from(answer.finished);
        outcome.prompt_tokens += answer.prompt_tokens.unwrap_or_default();
        outcome.answer_tokens += answer.answer_tokens.unwrap_or_default();
        // An earlier request without tools asks for a title or the like.
        let with_tools = exchange.request["tools"].is_array();
        if outcome.first_prompt_tokens == 0 && (with_tools || place + 1 == exchanges.len()) {
            outcome.first_prompt_tokens = answer.prompt_tokens.unwrap_or_default();
        }
        let calls = calls::judge(&exchange.request, &answer);
        outcome.calls += calls.written;
        outcome.invalid_calls += calls.invalid;
        // Calls that started between this request and the next one belong to this response.
        let next = exchanges.get(place + 1).map(|next| next.started);
        let ran = shown_calls.iter().filter(|call| {
            call.at >= exchange.started
                && next.is_none_or(|next| call.at < next)
                && call.status == "completed"
        });
        outcome.lost_calls += calls.invalid.min(calls.written.saturating_sub(ran.count() as u64));
    }
    let edits: Vec<&ShownCall> = shown_calls.iter().filter(|call| call.is_edit() && call.is_over()).collect();
    outcome.edits = edits.len() as u64;
    outcome.failed_edits = edits.iter().filter(|call| call.status == "failed").count() as u64;
    outcome.first_edit = edits.first().map(|call| call.status == "completed");
}

/// Returns the server's error if no request succeeded.
fn only_errors(exchanges: &[Exchange]) -> Option<String> {
    let answers: Vec<Answer> = exchanges.iter().map(Answer::read).collect();
    let failed = answers.iter().all(|answer| answer.error.is_some());
    failed.then(|| answers.into_iter().find_map(|answer| answer.error)).flatten()
}

/// Formats requests and responses as lines of JSON.
fn exchanges_as_lines(exchanges: &[Exchange]) -> String {
    let lines = exchanges.iter().map(|exchange| {
        let answer = String::from_utf8_lossy(&exchange.answer);
        let line = json!({ "path": exchange.path, "request": exchange.request, "answer": answer });
        format!("{line}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests;
