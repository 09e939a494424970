//! The editor of the kills: its files are those on disk, its terminals really run commands, it
//! allows every request and records the state of calls. It triggers the kill at the chosen moment.

use super::home::Home;
use super::kill_moment::KillMoment;
use super::swarm::reported::Reported;
use crate::peers::client::{Answer, Host};
use crate::peers::terminals::Terminals;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The program, shared by the threads that may kill it.
pub(super) type SharedChild = Arc<Mutex<Child>>;

/// Kills the program, including output that it has not written yet. Does nothing if it has exited.
pub(super) fn kill(child: &SharedChild) {
    child.lock().expect("no thread panics with the lock held").kill().ok();
}

/// Kills the program after a delay. A separate thread waits, so that requests are answered
/// meanwhile.
pub(super) fn kill_after(child: &SharedChild, time: Duration) {
    let child = Arc::clone(child);
    std::thread::spawn(move || {
        wait(time);
        kill(&child);
    });
}

/// Waits without sleeping: the delay is shorter than the scheduler's resolution.
fn wait(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::thread::yield_now();
    }
}

/// What the program has reported.
#[derive(Default)]
pub(super) struct Seen {
    /// The last state of each call.
    pub(super) calls: BTreeMap<String, String>,
    pub(super) agents: Reported,
}

impl Seen {
    /// Adds what another process reported.
    pub(super) fn extend(&mut self, later: Self) {
        self.calls.extend(later.calls);
        self.agents.extend(later.agents);
    }
}

/// The editor's side of the protocol.
pub(super) struct Editor {
    pub(super) terminals: Terminals,
    pub(super) seen: Seen,
    child: SharedChild,
    kill_moment: Option<KillMoment>,
    home: Arc<Home>,
    /// Whether the session is open; earlier updates belong to a replay.
    open: bool,
    lines: u64,
    calls_started: u64,
}

impl Editor {
    pub(super) fn new(child: SharedChild, kill_moment: Option<KillMoment>, home: Arc<Home>) -> Self {
        let (terminals, seen) = (Terminals::default(), Seen::default());
        Self { terminals, seen, child, kill_moment, home, open: false, lines: 0, calls_started: 0 }
    }

    /// Marks the session as open: from now on lines and calls are counted.
    pub(super) fn opened(&mut self) {
        self.open = true;
    }

    fn note(&mut self, update: &Value) {
        let (Some(id), Some(status)) = (update["toolCallId"].as_str(), update["status"].as_str()) else {
            return;
        };
        let before = self.seen.calls.insert(id.to_owned(), status.to_owned());
        let begins = self.open && status == "in_progress" && before.as_deref() != Some(status);
        self.calls_started += u64::from(begins);
        if let Some(KillMoment::Call(call, time)) = self.kill_moment
            && begins
            && call == self.calls_started
        {
            kill_after(&self.child, time);
        }
    }

    fn create(&mut self, params: &Value) -> Result<Value, String> {
        let program = text(params, "command")?;
        let mut command = self.home.command(program);
        let args = params["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        command.args(args).current_dir(text(params, "cwd")?).process_group(0);
        for variable in params["env"].as_array().into_iter().flatten() {
            command.env(text(variable, "name")?, text(variable, "value")?);
        }
        self.terminals.create(&mut command).map_err(|error| format!("{program}: {error}"))
    }
}

impl Host for Editor {
    fn on_request(&mut self, _: Instant, method: &str, params: &Value, answer: Answer) {
        let outcome = match method {
            "fs/read_text_file" => read(params),
            "fs/write_text_file" => write(params),
            "session/request_permission" => permit(params),
            "terminal/create" => self.create(params),
            method if method.starts_with("terminal/") => {
                return self.terminals.on_request(method, params, answer);
            }
            _ => Err(format!("this editor has no {method}")),
        };
        answer.give(outcome);
    }

    fn on_line(&mut self, line: &str) {
        self.lines += u64::from(self.open);
        if let Some(KillMoment::Line(number, time)) = self.kill_moment
            && self.open
            && number == self.lines
        {
            kill_after(&self.child, time);
        }
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        self.note(&message["params"]["update"]);
        self.seen.agents.note(&message);
    }
}

fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, String> {
    params[name].as_str().ok_or_else(|| format!("{name} is missing"))
}

fn read(params: &Value) -> Result<Value, String> {
    let content = std::fs::read_to_string(text(params, "path")?).map_err(|error| error.to_string())?;
    let number = |name: &str| params[name].as_u64().and_then(|number| usize::try_from(number).ok());
    let (first, limit) = (number("line").unwrap_or(1), number("limit").unwrap_or(usize::MAX));
    let lines = content.split_inclusive('\n').skip(first.saturating_sub(1)).take(limit);
    Ok(json!({ "content": lines.collect::<String>() }))
}

fn write(params: &Value) -> Result<Value, String> {
    std::fs::write(text(params, "path")?, text(params, "content")?).map_err(|error| error.to_string())?;
    Ok(json!({}))
}

fn permit(params: &Value) -> Result<Value, String> {
    let options = params["options"].as_array().ok_or("options are missing")?;
    let allow = options.iter().find(|option| option["kind"] == "allow_once");
    let allow = allow.ok_or("nothing allows it once")?;
    Ok(json!({ "outcome": { "outcome": "selected", "optionId": allow["optionId"] } }))
}
