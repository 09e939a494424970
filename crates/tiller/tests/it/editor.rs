//! A fake editor: its capabilities, buffers, answers, and a log of the agent's requests.

use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
};

/// The editor. It fails the test on a request for a capability that it did not offer, and if a
/// terminal is not released.
#[derive(Default)]
pub(crate) struct Editor {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) terminals: bool,
    /// The id of the chosen permission option; requests are dismissed if `None`.
    pub(crate) answer: Option<&'static str>,
    /// How its terminals run a command with arguments.
    pub(crate) joins: Joins,
    /// Its name and version in `clientInfo`.
    pub(crate) name: Option<(&'static str, &'static str)>,
    /// Open buffers by absolute path; other files are read from disk. Writes go to the buffer and
    /// the
    /// disk.
    pub(crate) buffers: BTreeMap<String, String>,
    /// Before it serves the request with this number, counted from 1, it reloads this file.
    pub(crate) reload: Option<(usize, String)>,
    /// The requests in order: `read PATH`, `write PATH`, `permission`, `terminal LINE`, `probe`, ….
    pub(crate) log: Vec<String>,
    pub(crate) open: Open,
    pub(crate) created: usize,
}

/// How a terminal runs a command with arguments.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joins {
    /// As an argument vector.
    #[default]
    Not,
    /// As one line for a shell, joined with spaces and without quoting.
    Unquoted,
    /// As one line for a shell, with each word quoted.
    Quoted,
    /// Not at all: it reports success without starting a program.
    AndRunsNothing,
}

/// The terminals that are not released.
#[derive(Default)]
pub(crate) struct Open(BTreeMap<String, Terminal>);

struct Terminal {
    output: String,
    code: Option<i32>,
    embedded: bool,
}

impl Editor {
    /// An editor that offers nothing and must receive no requests.
    pub(crate) fn without_anything() -> Self {
        Self::default()
    }

    /// An editor that offers everything and allows everything.
    pub(crate) fn with_everything() -> Self {
        Self { reads: true, writes: true, terminals: true, answer: Some("allow_once"), ..Self::default() }
    }

    /// Its capabilities.
    pub(crate) fn capabilities(&self) -> Value {
        json!({ "fs": { "readTextFile": self.reads, "writeTextFile": self.writes }, "terminal": self.terminals })
    }

    /// The parameters of its `initialize`.
    pub(crate) fn introduction(&self) -> Value {
        let mut introduction = json!({ "protocolVersion": 1, "clientCapabilities": self.capabilities() });
        if let Some((name, version)) = self.name {
            introduction["clientInfo"] = json!({ "name": name, "version": version });
        }
        introduction
    }

    /// The log without the paths.
    pub(crate) fn verbs(&self) -> Vec<&str> {
        self.log.iter().map(|line| line.split(' ').next().unwrap()).collect()
    }

    /// Records an update.
    pub(crate) fn saw(&mut self, update: &Value) {
        for content in update["content"].as_array().into_iter().flatten() {
            if let Some(terminal) = content["terminalId"].as_str().and_then(|id| self.open.0.get_mut(id)) {
                terminal.embedded = true;
            }
        }
    }

    /// Answers a request of the agent.
    pub(crate) fn serve(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let path = || {
            let path = params["path"].as_str().unwrap().to_owned();
            assert!(path.starts_with('/'), "paths on the wire are absolute: {path}");
            path
        };
        match self.reload.take() {
            Some((1, path)) => {
                let text = std::fs::read_to_string(&path).unwrap();
                self.buffers.insert(path, text);
            }
            later => self.reload = later.map(|(request, path)| (request - 1, path)),
        }
        match method {
            "fs/read_text_file" => {
                assert!(self.reads, "reads were never offered");
                let path = path();
                self.log.push(format!("read {path}"));
                let text = self.buffers.get(&path).cloned().or_else(|| std::fs::read_to_string(&path).ok());
                let text = text.ok_or_else(|| json!({ "code": -32002, "message": "no such file" }))?;
                let skip = params["line"].as_u64().map_or(0, |line| line - 1) as usize;
                let take = params["limit"].as_u64().unwrap_or(u64::MAX) as usize;
                let lines: String = text.split_inclusive('\n').skip(skip).take(take).collect();
                Ok(json!({ "content": lines }))
            }
            "fs/write_text_file" => {
                assert!(self.writes, "writes were never offered");
                let (path, text) = (path(), params["content"].as_str().unwrap().to_owned());
                self.log.push(format!("write {path}"));
                std::fs::create_dir_all(std::path::Path::new(&path).parent().unwrap()).unwrap();
                std::fs::write(&path, &text).unwrap();
                self.buffers.insert(path, text);
                Ok(Value::Null)
            }
            "session/request_permission" => {
                self.log.push("permission".to_owned());
                let options = params["options"].as_array().unwrap();
                for option in options {
                    let kind = match option["optionId"].as_str() {
                        Some("allow_for_user") => "allow_always",
                        id => id.unwrap(),
                    };
                    assert_eq!(option["kind"], kind, "option ids are their kinds, but for one");
                }
                let outcome = match self.answer {
                    Some(kind) => json!({ "outcome": "selected", "optionId": kind }),
                    None => json!({ "outcome": "cancelled" }),
                };
                Ok(json!({ "outcome": outcome }))
            }
            method => self.terminal(method, params),
        }
    }

    fn terminal(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        assert!(self.terminals, "terminals were never offered: {method}");
        if method == "terminal/create" {
            return Ok(self.run(params));
        }
        let id = params["terminalId"].as_str().unwrap();
        let terminal =
            self.open.0.get(id).unwrap_or_else(|| panic!("{method} of a terminal that is not open: {id}"));
        match method {
            "terminal/output" => {
                assert!(terminal.embedded, "a terminal is shown before its output is asked for");
                let exit = json!({ "exitCode": terminal.code, "signal": null });
                Ok(json!({ "output": terminal.output, "truncated": false, "exitStatus": exit }))
            }
            "terminal/wait_for_exit" => Ok(json!({ "exitCode": terminal.code, "signal": null })),
            "terminal/kill" => Ok(json!({})),
            "terminal/release" => {
                self.open.0.remove(id);
                Ok(Value::Null)
            }
            _ => panic!("unknown method {method}"),
        }
    }

    /// Runs the command to its end, as a very fast terminal would. Its standard input is a pipe to
    /// which
    /// nothing is written.
    fn run(&mut self, params: &Value) -> Value {
        let program = params["command"].as_str().unwrap();
        let args: Vec<_> =
            params["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        // The agent's probe of how commands are run; it belongs to no tool call.
        let probes = std::iter::once(&program).chain(&args).any(|word| word.contains("exit 7"));
        match probes {
            true => self.log.push("probe".to_owned()),
            false => self.log.push(format!("terminal {}", args.last().unwrap_or(&program))),
        }
        let words: Vec<_> = std::iter::once(program).chain(args.iter().copied()).collect();
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', "'\\''"));
        // A command that waits for input is killed, and its exit code fails the test.
        let mut command = Command::new("timeout");
        command.arg("20");
        match self.joins {
            Joins::Not => {
                assert!(!program.contains(' '), "an argument vector, not a line: {program}");
                command.arg(program).args(&args);
            }
            Joins::Unquoted => {
                command.args(["sh", "-c", &words.join(" ")]);
            }
            Joins::Quoted => {
                let words: Vec<_> = words.iter().map(quoted).collect();
                command.args(["sh", "-c", &words.join(" ")]);
            }
            Joins::AndRunsNothing => {
                command.arg("true");
            }
        }
        let cwd = params["cwd"].as_str().unwrap();
        command.current_dir(cwd).env("EDITORS_API_KEY", "canary-of-the-editor");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(input);
        self.created += 1;
        let id = format!("t{}", self.created);
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        self.open
            .0
            .insert(id.clone(), Terminal { output: text, code: output.status.code(), embedded: probes });
        json!({ "terminalId": id })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.0.is_empty(), "terminals were not released: {:?}", self.0.keys());
        }
    }
}
