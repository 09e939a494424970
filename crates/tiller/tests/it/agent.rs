//! Runs `tiller acp` as a child process and talks to it in raw JSON-RPC lines.

use crate::{editor::Editor, home::Home};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

/// The timeout for a message that never arrives; far above the time of a slow one.
const PATIENCE: Duration = Duration::from_secs(60);

/// The child process. Dropping it kills it.
pub(crate) struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: u64,
    /// Every update so far, in order.
    pub(crate) updates: Vec<Value>,
}

impl Agent {
    /// Starts `tiller acp` in the home's project.
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        Self::start_with(home, args, &[])
    }

    /// Like [`Self::start`], with additional environment variables.
    pub(crate) fn start_with(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = home.tiller(&[&["acp"], args].concat());
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // The receiver is gone once the test has ended.
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, stdin, lines, last_id: 0, updates: Vec::new() }
    }

    /// Starts it, initializes it with the editor's capabilities and opens a session in the project.
    pub(crate) fn open(home: &Home, args: &[&str], editor: &Editor) -> (Self, String) {
        let mut agent = Self::start(home, args);
        agent.ask("initialize", editor.introduction()).unwrap();
        let session = agent.new_session(home);
        (agent, session)
    }

    /// Sends `initialize`.
    pub(crate) fn initialize(&mut self, capabilities: Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.ask("initialize", params).unwrap()
    }

    /// Sends `session/new` for the project and returns the session's id.
    pub(crate) fn new_session(&mut self, home: &Home) -> String {
        let params = json!({ "cwd": home.project(), "mcpServers": [] });
        self.ask("session/new", params).unwrap()["sessionId"].as_str().unwrap().to_owned()
    }

    /// Runs a whole turn; returns the stop reason or the error.
    pub(crate) fn prompt(&mut self, session: &str, text: &str, editor: &mut Editor) -> Result<String, Value> {
        let content = json!([{ "type": "text", "text": text }]);
        let answer =
            self.call("session/prompt", json!({ "sessionId": session, "prompt": content }), editor)?;
        Ok(answer["stopReason"].as_str().unwrap().to_owned())
    }

    /// Runs a whole turn in version 2 of the protocol; returns the update that reports the idle
    /// state.
    pub(crate) fn turn(&mut self, session: &str, text: &str, editor: &mut Editor) -> Value {
        let content = json!([{ "type": "text", "text": text }]);
        let mut seen = self.updates.len();
        self.call("session/prompt", json!({ "sessionId": session, "prompt": content }), editor).unwrap();
        loop {
            let idle =
                |update: &&Value| update["sessionUpdate"] == "state_update" && update["state"] == "idle";
            if let Some(idle) = self.updates[seen..].iter().find(idle) {
                return idle.clone();
            }
            seen = self.updates.len();
            let message = self.receive().expect("the end of the turn, not of the output");
            self.serve(&message, editor);
        }
    }

    /// Sends a request during which the agent must not send requests itself.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.call(method, params, &mut Editor::without_anything())
    }

    /// Sends a request; the editor serves the agent's own requests until the response arrives.
    pub(crate) fn call(&mut self, method: &str, params: Value, editor: &mut Editor) -> Result<Value, Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive().expect("an answer, not the end of the output");
            if message.get("method").is_none() && message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(error.clone()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.serve(&message, editor);
        }
    }

    /// Serves one message of the agent that is not a response.
    pub(crate) fn serve(&mut self, message: &Value, editor: &mut Editor) {
        match (message["method"].as_str(), message.get("id")) {
            (Some("session/update"), None) => {
                editor.saw(&message["params"]["update"]);
                self.updates.push(message["params"]["update"].clone());
            }
            (Some(method), Some(id)) => {
                let answer = match editor.serve(method, &message["params"]) {
                    Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                    Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                };
                self.send(&answer);
            }
            _ => panic!("unexpected message: {message}"),
        }
    }

    /// Sends a request without waiting for the response.
    pub(crate) fn post(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }));
        self.last_id
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    /// Sends bytes.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    /// Returns the next message; `None` at the end of the output.
    pub(crate) fn receive(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("the agent was silent for {} s", PATIENCE.as_secs()),
        }
    }

    /// Returns the next message that arrives before `moment`; `Err` if none does.
    pub(crate) fn receive_before(&mut self, moment: Instant) -> Result<Value, ()> {
        match self.lines.recv_timeout(moment.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))),
            Err(RecvTimeoutError::Timeout) => Err(()),
            Err(RecvTimeoutError::Disconnected) => panic!("the agent ended by itself"),
        }
    }

    /// Kills the process; returns the messages that it had written, without an incomplete line.
    pub(crate) fn kill(&mut self) -> Vec<Value> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.lines.iter().filter_map(|line| serde_json::from_str(&line).ok()).collect()
    }

    /// Closes the input and waits for the exit; returns the exit status and the duration.
    pub(crate) fn hang_up(&mut self) -> (ExitStatus, Duration) {
        drop(self.stdin.take());
        let start = Instant::now();
        let status = self.child.wait().unwrap();
        (status, start.elapsed())
    }

    /// Returns every message until the process exits, and its exit status; the input stays open.
    pub(crate) fn rest(&mut self) -> (Vec<Value>, ExitStatus) {
        let mut rest = Vec::new();
        while let Some(message) = self.receive() {
            rest.push(message);
        }
        (rest, self.child.wait().unwrap())
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The concatenated text of all message chunks so far.
    pub(crate) fn printed(&self) -> String {
        let chunks = self.updates.iter().filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    /// The last status of each tool call, in order.
    pub(crate) fn statuses(&self) -> Vec<String> {
        let mut calls: Vec<(String, String)> = Vec::new();
        for update in &self.updates {
            let Some(id) = update["toolCallId"].as_str() else { continue };
            let Some(status) = update["status"].as_str() else { continue };
            match calls.iter_mut().find(|(known, _)| known == id) {
                Some((_, last)) => status.clone_into(last),
                None => calls.push((id.to_owned(), status.to_owned())),
            }
        }
        calls.into_iter().map(|(_, status)| status).collect()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The process has usually exited by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
