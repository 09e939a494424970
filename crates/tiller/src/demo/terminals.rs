//! The editor's terminals: they run real commands, and show and keep their output.

use super::{ledger::CONFINED, peer::Refusal};
use crate::limits;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, Command, ExitStatus, Output, Process, System};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The terminals of a session.
pub(super) struct Terminals {
    system: Arc<dyn System>,
    open: BTreeMap<String, Terminal>,
    created: usize,
    sender: mpsc::Sender<(String, Event)>,
    receiver: mpsc::Receiver<(String, Event)>,
}

/// An event of a terminal.
#[derive(Debug)]
pub(super) enum Event {
    Output(String),
    Exit(ExitStatus),
}

/// The end of a terminal's command, with the requests that wait for it.
pub(super) struct Ended {
    pub(super) command: String,
    pub(super) status: ExitStatus,
    /// The ids of requests that are to be answered with [`Ended::answer`].
    pub(super) waiting: Vec<Value>,
}

struct Terminal {
    command: String,
    output: String,
    limit: usize,
    truncated: bool,
    status: Option<ExitStatus>,
    waiting: Vec<Value>,
    kill: CancellationToken,
}

impl Terminals {
    /// Creates an empty set.
    pub(super) fn new(system: Arc<dyn System>) -> Self {
        let (sender, receiver) = mpsc::channel(limits::DEMO_TERMINAL_EVENTS);
        Self { system, open: BTreeMap::new(), created: 0, sender, receiver }
    }

    /// `terminal/create`: starts the command and returns the terminal's id and the command as text.
    pub(super) async fn create(&mut self, params: &Value) -> Result<(String, String), Refusal> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let invalid = |what: &str| Refusal(-32602, format!("terminal/create: {what}"));
        let program = text(&params["command"]).ok_or_else(|| invalid("no command"))?;
        let args: Vec<String> = params["args"].as_array().into_iter().flatten().filter_map(text).collect();
        let cwd = params["cwd"].as_str().ok_or_else(|| invalid("no cwd"))?;
        let cwd = AbsPath::new(cwd).map_err(|error| invalid(&error.to_string()))?;
        let env = params["env"].as_array().into_iter().flatten();
        let env = env.filter_map(|pair| Some((text(&pair["name"])?, text(&pair["value"])?))).collect();
        let limit = params["outputByteLimit"].as_u64().and_then(|bytes| usize::try_from(bytes).ok());
        let limit = limit.unwrap_or(limits::DEMO_TERMINAL_BYTES);
        let shown = match args.as_slice() {
            [flag, line] if flag == "-c" => line.clone(),
            // The agent's launcher; the words after the socket are the command that it confines.
            [sandbox, run, _socket, label @ ..] if [sandbox, run] == crate::wiring::IN_TERMINAL => {
                format!("{} {CONFINED}{sandbox} {run} …)", label.join(" "))
            }
            args => [std::slice::from_ref(&program), args].concat().join(" "),
        };
        let command = Command { env, ..Command::new(program, args, cwd, limit) };
        let process = self.system.spawn(command).await.map_err(|error| Refusal(-32603, error.to_string()))?;
        self.created += 1;
        let id = format!("terminal-{}", self.created);
        let kill = CancellationToken::new();
        tokio::spawn(drive(id.clone(), process, kill.clone(), self.sender.clone()));
        let terminal = Terminal {
            command: shown.clone(),
            output: String::new(),
            limit,
            truncated: false,
            status: None,
            waiting: Vec::new(),
            kill,
        };
        self.open.insert(id.clone(), terminal);
        Ok((id, shown))
    }

    /// Returns the next event of any terminal. Cancel-safe.
    pub(super) async fn next(&mut self) -> (String, Event) {
        self.receiver.recv().await.expect("the sender lives beside the receiver")
    }

    /// Appends output, within the terminal's limit.
    pub(super) fn append_output(&mut self, id: &str, text: &str) {
        let Some(terminal) = self.open.get_mut(id) else { return };
        terminal.output.push_str(text);
        let excess = terminal.output.len().saturating_sub(terminal.limit);
        if excess > 0 {
            terminal.output.drain(..agent::ceil_char_boundary(&terminal.output, excess));
            terminal.truncated = true;
        }
    }

    /// Records the exit status; `None` if the terminal was released.
    pub(super) fn ended(&mut self, id: &str, status: ExitStatus) -> Option<Ended> {
        let terminal = self.open.get_mut(id)?;
        terminal.status = Some(status.clone());
        Some(Ended {
            command: terminal.command.clone(),
            status,
            waiting: std::mem::take(&mut terminal.waiting),
        })
    }

    /// `terminal/output`.
    pub(super) fn output(&self, params: &Value) -> Result<Value, Refusal> {
        let terminal = self.open.get(id(params)).ok_or_else(unknown)?;
        let mut answer = json!({ "output": terminal.output, "truncated": terminal.truncated });
        if let Some(status) = &terminal.status {
            answer["exitStatus"] = exit_json(status);
        }
        Ok(answer)
    }

    /// `terminal/wait_for_exit`: returns the answer, or `None` if it follows when the command
    /// exits.
    pub(super) fn wait(&mut self, params: &Value, request: &Value) -> Option<Result<Value, Refusal>> {
        let Some(terminal) = self.open.get_mut(id(params)) else { return Some(Err(unknown())) };
        match &terminal.status {
            Some(status) => Some(Ok(exit_json(status))),
            None => {
                terminal.waiting.push(request.clone());
                None
            }
        }
    }

    /// `terminal/kill`.
    pub(super) fn kill(&self, params: &Value) -> Result<Value, Refusal> {
        self.open.get(id(params)).ok_or_else(unknown)?.kill.cancel();
        Ok(json!({}))
    }

    /// `terminal/release`: removes the terminal and kills its command.
    pub(super) fn release(&mut self, params: &Value) -> Result<Value, Refusal> {
        self.open.remove(id(params)).ok_or_else(unknown)?.kill.cancel();
        Ok(json!({}))
    }

    /// Returns how many terminals the agent has not released.
    pub(super) fn unreleased(&self) -> usize {
        self.open.len()
    }
}

impl Ended {
    /// The response to the waiting requests.
    pub(super) fn answer(&self) -> Value {
        exit_json(&self.status)
    }
}

async fn drive(
    id: String,
    mut process: Box<dyn Process>,
    kill: CancellationToken,
    events: mpsc::Sender<(String, Event)>,
) {
    loop {
        let output = tokio::select! {
            output = process.next_output() => output,
            () = kill.cancelled() => {
                process.kill().await;
                break;
            }
        };
        let text = match output {
            None => break,
            Some(Output::Text(text)) => text,
            Some(Output::Gap) => "[output truncated]\n".to_owned(),
        };
        // The receiver is gone once the demo has ended.
        let _ = events.send((id.clone(), Event::Output(text))).await;
    }
    let status = process.wait().await.unwrap_or_default();
    let _ = events.send((id, Event::Exit(status))).await;
}

fn id(params: &Value) -> &str {
    params["terminalId"].as_str().unwrap_or_default()
}

fn unknown() -> Refusal {
    Refusal(-32002, "no such terminal".to_owned())
}

fn exit_json(status: &ExitStatus) -> Value {
    json!({ "exitCode": status.code, "signal": status.signal })
}
