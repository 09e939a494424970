//! Runs the real program over real pipes, with secrets in every place where secrets can be; its
//! output must contain none of them.

use crate::home::Home;
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// Secrets: of a provider, of a server, stored by a request, and sent in a place where none
/// belongs.
pub(super) const CANARIES: [&str; 4] =
    ["canary-key-51f0aa", "canary-token-7c2e91", "canary-kept-0b63d4", "canary-sent-d98e17"];

pub(super) struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    home: Home,
    last: u64,
    model: String,
    /// Every notification of the native layer so far.
    pub(super) events: Vec<Value>,
    pub(super) session: String,
}

impl Pipe {
    /// Starts the program, opts in to events and opens a session with a server.
    pub(super) fn start(home: Home, model: &str) -> Self {
        let mut command = home.tiller(&["acp", "--permission-mode", "argus", "-m", "openai/test"]);
        command.env("OPENAI_API_KEY", CANARIES[0]).env("OPENAI_BASE_URL", model).env("TILLER_LOG", "trace");
        let stderr = File::create(home.path().join("stderr")).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let stdin = child.stdin.take();
        let (events, session) = (Vec::new(), String::new());
        let mut pipe = Self { child, stdin, lines, home, last: 0, model: model.to_owned(), events, session };
        let script = pipe.home.path().join("server.sh");
        std::fs::write(&script, include_str!("server.sh")).unwrap();
        let events = json!({ "_meta": { "tiller": { "events": true } }, "session": { "notices": {} } });
        pipe.ask("initialize", json!({ "protocolVersion": 1, "clientCapabilities": events })).unwrap();
        let env = json!([{ "name": "API_TOKEN", "value": CANARIES[1] }]);
        let server = json!({ "name": "words", "command": "/bin/sh", "args": [script], "env": env });
        let new = json!({ "cwd": pipe.home.project(), "mcpServers": [server] });
        let session = pipe.ask("session/new", new).unwrap();
        session["sessionId"].as_str().unwrap().clone_into(&mut pipe.session);
        pipe
    }

    /// The directory of the session.
    pub(super) fn project(&self) -> std::path::PathBuf {
        self.home.project()
    }

    /// Sends a request and allows all permission requests meanwhile; returns the result or the
    /// error.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let line = self.lines.next().expect("an answer, not the end").unwrap();
            for canary in CANARIES {
                assert!(!line.contains(canary), "a secret on the wire: {line}");
            }
            let message: Value = serde_json::from_str(&line).unwrap();
            match message["method"].as_str() {
                None if message["id"] == id => {
                    return match message.get("error") {
                        Some(error) => Err(error.clone()),
                        None => Ok(message["result"].clone()),
                    };
                }
                Some("session/request_permission") => {
                    let outcome = json!({ "outcome": { "outcome": "selected", "optionId": "allow_once" } });
                    self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": outcome }));
                }
                Some(method) if method.starts_with("_tiller/") => self.events.push(message),
                _ => {}
            }
        }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// Closes the connection and checks that stderr has no secrets either.
    pub(super) fn end(mut self) {
        drop(self.stdin.take());
        assert!(self.child.wait().unwrap().success());
        let stderr = std::fs::read_to_string(self.home.path().join("stderr")).unwrap();
        assert!(stderr.len() > 1_000, "the log is there: {stderr}");
        for canary in CANARIES {
            let line = stderr.lines().find(|line| line.contains(canary));
            assert_eq!(line, None, "a secret in the log");
        }
    }

    /// Replaces everything in a message that differs between runs, and sorts members by name.
    pub(super) fn shown(&self, message: &Value) -> Value {
        self.plain("", message)
    }

    fn plain(&self, key: &str, value: &Value) -> Value {
        match (key, value) {
            ("timestamp", _) => json!(1_767_225_600.25),
            ("duration_ms" | "execution_time_ms", _) => json!(1.5),
            ("memory_usage", _) => json!(49_152),
            ("id", Value::String(id)) if id.len() == 36 => json!("0199f0c4-GOAL"),
            ("id", Value::String(id)) if id.len() == 8 && id.bytes().all(|b| b.is_ascii_hexdigit()) => {
                json!("1f0c42aa")
            }
            ("version", Value::String(_)) => json!("0.1.0"),
            ("createdAt" | "updatedAt", Value::String(_)) => json!("2026-01-01T00:00:00.25Z"),
            // Depends on the machine that runs the test.
            ("sandbox", Value::Object(_)) => json!({
                "applies": true, "holds": true, "landlock_abi": 6, "level": "workspace-write", "namespaces": true,
                "network": "off", "seccomp": true,
            }),
            // That of an item is also that of its directory, which is another one in each run.
            ("hash", Value::String(hash)) if hash.len() == 64 => json!("5c1b".repeat(16)),
            ("issues", _) => json!([]),
            (_, Value::String(text)) => json!(self.text(text)),
            (_, Value::Array(items)) => items.iter().map(|item| self.plain("", item)).collect(),
            (_, Value::Object(members)) => {
                let mut members: Vec<_> =
                    members.iter().map(|(key, value)| (key.clone(), self.plain(key, value))).collect();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                if members.iter().any(|(key, _)| key == "issues") {
                    members
                        .iter_mut()
                        .filter(|(key, _)| key == "success")
                        .for_each(|(_, value)| *value = json!(true));
                }
                Value::Object(members.into_iter().collect())
            }
            (_, plain) => plain.clone(),
        }
    }

    fn text(&self, text: &str) -> String {
        let home = self.home.path();
        let text = text.replace(&self.session, "0199f0c4-SESSION");
        let mut text = text.replace(&self.model, "http://127.0.0.1:8080");
        for (directory, shown) in
            [("home", "/path/to/home"), ("project", "/path/to/project"), ("", "/path/to")]
        {
            text = text.replace(home.join(directory).to_str().unwrap().trim_end_matches('/'), shown);
        }
        // Timestamps to the second: `2026-01-01T00:00:00Z`.
        while let Some(end) = text.find("Z\n").filter(|end| *end > 18 && text.as_bytes()[end - 9] == b'T') {
            text.replace_range(end - 19..=end, "(then)");
        }
        match text.split_once(" Commands run ") {
            Some((before, _)) => format!("{before} Commands run in a sandbox."),
            None => text,
        }
    }
}
