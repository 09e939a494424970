//! The scripted editor of the wall: its terminals really run what they get, its files are those of the disk, and it refuses.

use super::corpus::Words;
use super::leftovers;
use super::world::World;
use crate::peers::client::{Answer, Host};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

/// How much of a terminal's output is kept, in bytes.
const OUTPUT_LIMIT: usize = 256 << 10;

/// What stands in for Tiller's launcher on a machine that does not have it.
const NO_LAUNCHER: &str = "echo 'tiller: command not found' >&2; exit 127";

/// An editor.
pub(super) struct Editor {
    world: Arc<World>,
    words: Words,
    launcher: bool,
    /// Whether commands without the launcher are only pretended to run.
    pub(super) pretends: bool,
    /// The answers to the questions about the first calls, by kind.
    answers: Vec<String>,
    /// The titles of the questions, in order.
    pub(super) questions: Vec<String>,
    /// Every line of the agent.
    pub(super) log: String,
    terminals: HashMap<String, Arc<Terminal>>,
    created: usize,
}

/// A terminal and what runs in it.
#[derive(Default)]
struct Terminal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    output: Vec<u8>,
    truncated: bool,
    group: Option<u32>,
    exit: Option<Value>,
}

impl Terminal {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock held")
    }
}

impl Editor {
    pub(super) fn new(world: Arc<World>, words: Words, launcher: bool, answers: Vec<String>) -> Self {
        Self {
            world,
            words,
            launcher,
            pretends: false,
            answers,
            questions: Vec::new(),
            log: String::new(),
            terminals: HashMap::new(),
            created: 0,
        }
    }

    fn create(&mut self, params: &Value) -> Result<Value, String> {
        let command = params["command"].as_str().ok_or("command is missing")?;
        let args: Vec<&str> = params["args"]
            .as_array()
            .map_or_else(Vec::new, |args| args.iter().filter_map(Value::as_str).collect());
        let launched = args.first() == Some(&"sandbox") && args.get(1) == Some(&"run");
        let mut process = if launched && !self.launcher {
            shell(&self.world, NO_LAUNCHER)
        } else if !launched && self.pretends {
            shell(&self.world, "true")
        } else {
            self.as_words(command, &args)
        };
        if let Some(cwd) = params["cwd"].as_str() {
            process.current_dir(cwd);
        }
        for variable in params["env"].as_array().unwrap_or(&Vec::new()) {
            if let (Some(name), Some(value)) = (variable["name"].as_str(), variable["value"].as_str()) {
                process.env(name, value);
            }
        }
        let child = process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child.map_err(|error| format!("{command}: {error}"))?;
        self.created += 1;
        let id = format!("terminal-{}", self.created);
        let terminal = Arc::new(Terminal::default());
        terminal.state().group = Some(child.id());
        watch(child, &terminal);
        self.terminals.insert(id.clone(), terminal);
        Ok(json!({ "terminalId": id }))
    }

    /// The process as the editor starts it.
    fn as_words(&self, command: &str, args: &[&str]) -> Command {
        let all = std::iter::once(command).chain(args.iter().copied());
        match self.words {
            Words::Argv => {
                let mut process = self.world.command(command, false);
                process.args(args);
                process
            }
            Words::Joined => shell(&self.world, &all.collect::<Vec<_>>().join(" ")),
            Words::Quoted => {
                let quoted = all.map(|word| format!("'{}'", word.replace('\'', r"'\''")));
                shell(&self.world, &quoted.collect::<Vec<_>>().join(" "))
            }
        }
    }

    fn terminal(&self, params: &Value) -> Result<Arc<Terminal>, String> {
        let id = params["terminalId"].as_str().ok_or("terminalId is missing")?;
        self.terminals.get(id).cloned().ok_or_else(|| format!("no terminal {id}"))
    }

    fn permit(&mut self, params: &Value) -> Result<Value, String> {
        let call = &params["toolCall"];
        self.questions.push(call["title"].as_str().unwrap_or("?").to_owned());
        let number = call["toolCallId"].as_str().and_then(|id| id.rsplit_once('_')?.1.parse::<usize>().ok());
        let answer = number.and_then(|number| self.answers.get(number));
        let wanted = answer.map_or("reject_once", String::as_str);
        let options = params["options"].as_array().ok_or("options are missing")?;
        let kind = |kind: &str| options.iter().find(|option| option["kind"] == kind);
        Ok(match kind(wanted).or_else(|| kind("reject_once")) {
            Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option["optionId"] } }),
            None => json!({ "outcome": { "outcome": "cancelled" } }),
        })
    }

    /// Files are opened as the user, and not as the harness.
    fn read(&self, params: &Value) -> Result<Value, String> {
        let path = params["path"].as_str().ok_or("path is missing")?;
        // A pipe with nobody at its other end would hold up every answer.
        let output =
            self.world.command("timeout", false).args(["3", "head", "-c", "4M", "--", path]).output();
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("{path} cannot be read"));
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = |name: &str| params[name].as_u64().and_then(|number| usize::try_from(number).ok());
        let (first, limit) = (number("line").unwrap_or(1), number("limit").unwrap_or(usize::MAX));
        let content: String = text.split_inclusive('\n').skip(first.saturating_sub(1)).take(limit).collect();
        Ok(json!({ "content": content }))
    }

    fn write(&self, params: &Value) -> Result<Value, String> {
        let path = params["path"].as_str().ok_or("path is missing")?;
        let content = params["content"].as_str().ok_or("content is missing")?;
        let mut write = self.world.command("sh", false);
        write
            .args(["-c", r#"mkdir -p "$(dirname "$1")" && timeout 3 cat > "$1""#, "sh", path])
            .stdin(Stdio::piped());
        let mut child = write.spawn().map_err(|error| error.to_string())?;
        // A reader that has ended says so by its exit code.
        child.stdin.take().map(|mut to| to.write_all(content.as_bytes()).ok());
        match child.wait() {
            Ok(status) if status.success() => Ok(json!({})),
            _ => Err(format!("{path} cannot be written")),
        }
    }
}

fn shell(world: &World, line: &str) -> Command {
    let mut process = world.command("sh", false);
    process.args(["-c", line]);
    process
}

/// Collects a process's output and exit in threads of their own.
fn watch(mut child: Child, terminal: &Arc<Terminal>) {
    let mut pipes: Vec<Box<dyn Read + Send>> = Vec::new();
    pipes.extend(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    pipes.extend(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let readers: Vec<_> = pipes.into_iter().map(|pipe| std::thread::spawn(reader(pipe, terminal))).collect();
    let terminal = Arc::clone(terminal);
    std::thread::spawn(move || {
        let status = child.wait();
        // A process that stays behind may keep the pipe open: its output is not waited for for long.
        let until = Instant::now() + std::time::Duration::from_millis(200);
        while Instant::now() < until && !readers.iter().all(std::thread::JoinHandle::is_finished) {
            std::thread::sleep(std::time::Duration::from_millis(2));
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

impl Host for Editor {
    fn asked(&mut self, _: Instant, method: &str, params: &Value, answer: Answer) {
        let outcome = match method {
            "fs/read_text_file" => self.read(params),
            "fs/write_text_file" => self.write(params),
            "session/request_permission" => self.permit(params),
            "terminal/create" => self.create(params),
            "terminal/output" => self.terminal(params).map(|terminal| {
                let state = terminal.state();
                let output = String::from_utf8_lossy(&state.output).into_owned();
                json!({ "output": output, "truncated": state.truncated, "exitStatus": state.exit })
            }),
            "terminal/wait_for_exit" => match self.terminal(params) {
                Ok(terminal) => {
                    std::thread::spawn(move || {
                        let mut state = terminal.state();
                        while state.exit.is_none() {
                            state = terminal.changed.wait(state).expect("nobody panics with the lock held");
                        }
                        answer.give(Ok(state.exit.clone().unwrap_or_default()));
                    });
                    return;
                }
                Err(error) => Err(error),
            },
            "terminal/kill" | "terminal/release" => self.terminal(params).map(|terminal| {
                let state = terminal.state();
                if let (None, Some(group)) = (&state.exit, state.group) {
                    leftovers::kill_group(group);
                }
                json!({})
            }),
            _ => Err(format!("the wall's editor has no {method}")),
        };
        answer.give(outcome);
    }

    fn saw(&mut self, line: &str) {
        self.log.push_str(line);
    }
}
