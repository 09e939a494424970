//! Terminals of a scripted editor that really run commands.

use super::client::Answer;
use crate::leftovers;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Bytes of a terminal's output that are kept.
const OUTPUT_LIMIT: usize = 256 << 10;

/// The terminals of one editor.
#[derive(Default)]
pub(crate) struct Terminals {
    all: HashMap<String, Arc<Terminal>>,
    created: usize,
}

/// A terminal and its command.
#[derive(Default)]
struct Terminal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    output: Vec<u8>,
    truncated: bool,
    /// The command's process group, led by its first process.
    group: Option<u32>,
    exit: Option<Value>,
}

impl Terminal {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics with the lock held")
    }
}

impl Terminals {
    /// Starts a command in a new terminal and returns the result of `terminal/create`. The command
    /// must lead a process group of its own.
    pub(crate) fn create(&mut self, command: &mut Command) -> std::io::Result<Value> {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        self.created += 1;
        let id = format!("terminal-{}", self.created);
        let terminal = Arc::new(Terminal::default());
        terminal.state().group = Some(child.id());
        watch(child, &terminal);
        self.all.insert(id.clone(), terminal);
        Ok(json!({ "terminalId": id }))
    }

    /// Handles a request for an existing terminal.
    pub(crate) fn on_request(&self, method: &str, params: &Value, answer: Answer) {
        let id = params["terminalId"].as_str().unwrap_or_default();
        let Some(terminal) = self.all.get(id).map(Arc::clone) else {
            return answer.give(Err(format!("no terminal {id}")));
        };
        match method {
            "terminal/output" => answer.give(Ok(terminal.state().shown())),
            "terminal/wait_for_exit" => drop(std::thread::spawn(move || {
                let mut state = terminal.state();
                while state.exit.is_none() {
                    state = terminal.changed.wait(state).expect("no thread panics with the lock held");
                }
                answer.give(Ok(state.exit.clone().unwrap_or_default()));
            })),
            "terminal/kill" | "terminal/release" => {
                terminal.state().kill();
                answer.give(Ok(json!({})));
            }
            _ => answer.give(Err(format!("no {method}"))),
        }
    }

    /// Kills all commands, as an editor does when its agent is gone.
    pub(crate) fn kill_all(&self) {
        self.all.values().for_each(|terminal| terminal.state().kill());
    }
}

impl State {
    fn shown(&self) -> Value {
        let output = String::from_utf8_lossy(&self.output).into_owned();
        json!({ "output": output, "truncated": self.truncated, "exitStatus": self.exit })
    }

    fn kill(&self) {
        if let (None, Some(group)) = (&self.exit, self.group) {
            leftovers::kill_group(group);
        }
    }
}

/// Collects a process's output and exit status in separate threads.
fn watch(mut child: Child, terminal: &Arc<Terminal>) {
    let mut pipes: Vec<Box<dyn Read + Send>> = Vec::new();
    pipes.extend(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    pipes.extend(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let readers: Vec<_> = pipes.into_iter().map(|pipe| std::thread::spawn(reader(pipe, terminal))).collect();
    let terminal = Arc::clone(terminal);
    std::thread::spawn(move || {
        let status = child.wait();
        // A background process may keep the pipe open, so the wait for its output is short.
        let until = Instant::now() + Duration::from_millis(200);
        while Instant::now() < until && !readers.iter().all(std::thread::JoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let code = status.ok().and_then(|status| status.code());
        let signal = if code.is_none() { json!("SIGKILL") } else { Value::Null };
        terminal.state().exit = Some(json!({ "exitCode": code, "signal": signal }));
        terminal.changed.notify_all();
    });
}

fn reader(mut pipe: Box<dyn Read + Send>, terminal: &Arc<Terminal>) -> impl FnOnce() + use<> {
    let terminal = Arc::clone(terminal);
    move || {
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = pipe.read(&mut part) {
            let mut state = terminal.state();
            let room = OUTPUT_LIMIT.saturating_sub(state.output.len()).min(count);
            state.truncated |= room < count;
            state.output.extend_from_slice(&part[..room]);
        }
    }
}
