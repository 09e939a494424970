//! The editor's side of the conversation: the messages it received, its responses, and its
//! objections.

use super::script::{Answer, Decoding, EditorScript, Fault, TerminalScript};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::{AbsPath, System, TextRange};
use tokio::sync::{Notify, mpsc, oneshot};

/// A result or an error object.
pub(super) type Response = Result<Value, Value>;

pub(super) struct FakePeer {
    script: EditorScript,
    state: Mutex<State>,
    pub(super) changed: Notify,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
}

#[derive(Default)]
struct State {
    log: Vec<Value>,
    violations: Vec<String>,
    waiting: HashMap<String, oneshot::Sender<Response>>,
    /// The session of each pending request that permits updates in that session, by request id.
    turns: HashMap<String, String>,
    /// The sessions with a running turn, according to version 2's state updates.
    running: HashSet<String>,
    /// The terminals that the agent owns, in version 2.
    displayed: HashSet<String>,
    buffers: HashMap<String, String>,
    permissions: VecDeque<Answer>,
    forms: VecDeque<Value>,
    /// Ids of requests that the agent cancelled.
    taken_back: Vec<Value>,
    terminals: HashMap<String, Running>,
    terminals_created: usize,
    /// The number of requests from the agent so far.
    requests: usize,
    /// The command lines of all started commands.
    ran: Vec<String>,
}

/// A request from the agent.
pub(super) struct AgentRequest {
    pub(super) id: Value,
    pub(super) method: String,
    params: Value,
    /// Its number among all requests, from 1.
    number: usize,
}

struct Running {
    script: TerminalScript,
    polls: usize,
    killed: bool,
    released: bool,
}

impl Running {
    fn exit(&self) -> Option<Value> {
        if self.killed && !self.script.ignores_kill {
            return Some(json!({ "signal": "SIGKILL" }));
        }
        self.script.exit.clone().filter(|_| self.polls + 1 >= self.script.polls.len())
    }
}

impl FakePeer {
    pub(super) fn new(script: EditorScript, outgoing: mpsc::UnboundedSender<Vec<u8>>) -> Self {
        let state = State {
            buffers: script.files.buffers.clone(),
            permissions: script.answers.permissions.clone(),
            forms: script.answers.forms.clone().unwrap_or_default(),
            ..State::default()
        };
        Self { script, state: Mutex::new(state), changed: Notify::new(), outgoing }
    }

    pub(super) fn script(&self) -> &EditorScript {
        &self.script
    }

    pub(super) fn log(&self) -> Vec<Value> {
        self.lock().log.clone()
    }

    pub(super) fn text_of(&self, path: &str) -> Option<String> {
        self.lock().buffers.get(path).cloned()
    }

    pub(super) fn ran(&self) -> Vec<String> {
        self.lock().ran.clone()
    }

    /// Returns the number of terminals that were created and not released.
    pub(super) fn open_terminals(&self) -> usize {
        self.lock().terminals.values().filter(|terminal| !terminal.released).count()
    }

    /// Returns the violations so far.
    pub(super) fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// Returns the violations so far, including leftovers.
    pub(super) fn all_violations(&self) -> Vec<String> {
        let state = self.lock();
        let mut all_violations = state.violations.clone();
        let open = state.terminals.iter().filter(|(_, terminal)| !terminal.released);
        all_violations.extend(open.map(|(id, _)| format!("{id} was never released")));
        all_violations.extend(state.forms.iter().map(|form| format!("nobody asked for the form {form}")));
        all_violations.extend(state.permissions.iter().map(|answer| format!("nobody asked for {answer:?}")));
        all_violations
    }

    pub(super) fn expect(&self, id: &str, turn_of: Option<&str>) -> oneshot::Receiver<Response> {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        state.waiting.insert(id.to_owned(), sender);
        if let Some(session) = turn_of {
            state.turns.insert(id.to_owned(), session.to_owned());
        }
        receiver
    }

    pub(super) fn send(&self, message: &Value) {
        // Sending fails if the agent has disconnected.
        let _ = self.outgoing.send(format!("{message}\n").into_bytes());
    }

    /// Handles a line from the agent; returns the request to answer, if it is one.
    pub(super) fn receive(&self, line: &str) -> Option<AgentRequest> {
        let mut state = self.lock();
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            state.record_violation(format!("not JSON: {line}"));
            return None;
        };
        state.log.push(message.clone());
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let params = message.get("params").cloned().unwrap_or_default();
        let request = match (method, message.get("id").cloned()) {
            (Some(method), Some(id)) => {
                state.requests += 1;
                if method == "terminal/release" {
                    state.handle_release(&params);
                }
                Some(AgentRequest { id, method, params, number: state.requests })
            }
            (Some(method), None) => {
                let native =
                    self.script.offers.native && method.contains('/') && !method.starts_with("session/");
                if !native {
                    state.handle_notification(&method, &params, &self.script);
                }
                None
            }
            (None, Some(id)) => {
                state.handle_response(&id, &message);
                None
            }
            (None, None) => {
                state.record_violation(format!("neither request nor answer: {line}"));
                None
            }
        };
        drop(state);
        self.changed.notify_waiters();
        request
    }

    /// Returns the responses to a request from the agent: one, unless the script has a fault.
    pub(super) async fn answer(self: &Arc<Self>, asked: &AgentRequest) -> Vec<Response> {
        let AgentRequest { id, method, params, number } = asked;
        if !self.script.advertises(method) {
            self.lock().record_violation(format!("{method} was never advertised"));
            return vec![Err(json!({ "code": -32601, "message": "Method not found" }))];
        }
        for path in ["path", "cwd"].iter().filter_map(|key| params.get(*key).and_then(Value::as_str)) {
            if !path.starts_with('/') {
                self.lock().record_violation(format!("{method} with a relative path: {path}"));
            }
        }
        let here =
            self.script.faults.by_number.as_ref().filter(|(at, _)| at == number).map(|(_, fault)| fault);
        match here.or_else(|| self.script.faults.by_method.get(method)) {
            None => self.perform(id, method, params).await.into_iter().collect(),
            Some(Fault::Error(code, message)) => vec![Err(json!({ "code": code, "message": message }))],
            Some(Fault::Result(result)) => vec![Ok(result.clone())],
            Some(Fault::Done(code, message)) => {
                let done = self.perform(id, method, params).await;
                // The editor itself must end a terminal whose id the agent never received.
                if let Some(made) = done.and_then(Result::ok).filter(|_| method == "terminal/create") {
                    self.lock().handle_release(&made);
                }
                vec![Err(json!({ "code": code, "message": message }))]
            }
            Some(Fault::Silence) => Vec::new(),
            Some(Fault::Late(time)) => {
                let answer = self.perform(id, method, params).await;
                tokio::time::sleep(*time).await;
                answer.into_iter().collect()
            }
            Some(Fault::Twice) => {
                let answer = self.perform(id, method, params).await;
                answer.clone().into_iter().chain(answer).collect()
            }
        }
    }

    /// Performs a request as an editor would.
    async fn perform(self: &Arc<Self>, id: &Value, method: &str, params: &Value) -> Option<Response> {
        match method {
            "fs/read_text_file" => Some(self.read(params).await),
            "fs/write_text_file" => Some(self.write(params).await),
            "session/request_permission" => self.permission(id).await,
            "elicitation/create" => Some(self.lock().form()),
            "terminal/create" => Some(self.lock().create_terminal(&self.script, params)),
            _ => Some(self.terminal(method, params).await),
        }
    }

    async fn read(&self, params: &Value) -> Response {
        let path = params.get("path").and_then(Value::as_str).unwrap_or_default();
        let number =
            |key: &str| params.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let (line, limit) = (number("line"), number("limit"));
        let range = TextRange { line: line.unwrap_or(1), limit: limit.unwrap_or(usize::MAX) };
        let buffer = self.text_of(path);
        let text = match (buffer, &self.script.files.disk, AbsPath::new(path)) {
            (Some(text), _, _) => Some(text),
            (None, Some(disk), Ok(path)) => decoded(disk.as_ref(), &path, self.script.files.decoding).await,
            _ => None,
        };
        match (text, &self.script.files.cut_range) {
            (Some(text), Some(cut_range)) => Ok(json!({ "content": cut_range(&text, line, limit) })),
            (Some(text), None) => {
                let lines = text.split_inclusive('\n').skip(range.line.saturating_sub(1)).take(range.limit);
                Ok(json!({ "content": lines.collect::<String>() }))
            }
            (None, _) if self.script.files.missing_is_empty => Ok(json!({ "content": "" })),
            (None, _) => {
                Err(json!({ "code": -32002, "message": "Resource not found", "data": { "uri": path } }))
            }
        }
    }

    async fn write(self: &Arc<Self>, params: &Value) -> Response {
        if let Some(after) = self.script.files.writes_after {
            let (peer, params) = (self.clone(), params.clone());
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                peer.apply_write(&params).await.expect("a late write is done");
            });
            return Ok(Value::Null);
        }
        self.apply_write(params).await
    }

    async fn apply_write(&self, params: &Value) -> Response {
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
        match (&self.script.files.disk, AbsPath::new(text("path"))) {
            (Some(disk), Ok(path)) if self.script.files.saves => {
                let refused =
                    |error: system::SystemError| json!({ "code": -32603, "message": error.to_string() });
                let content = text("content");
                match self.script.files.decoding {
                    Decoding::Proper => {
                        let was = disk.read_text_on_disk(&path).await.map_err(refused)?;
                        disk.replace_text(&path, was.as_deref(), content).await
                    }
                    Decoding::Raw | Decoding::Plain => disk.write(&path, content.as_bytes()).await,
                }
                .map_err(refused)?;
            }
            _ => drop(self.lock().buffers.insert(text("path").to_owned(), text("content").to_owned())),
        }
        Ok(Value::Null)
    }

    async fn permission(&self, id: &Value) -> Option<Response> {
        let answer = self.lock().permissions.pop_front();
        let outcome = |outcome: Value| Some(Ok(json!({ "outcome": outcome })));
        match answer {
            Some(Answer::Select(option)) => outcome(json!({ "outcome": "selected", "optionId": option })),
            Some(Answer::Cancelled) => outcome(json!({ "outcome": "cancelled" })),
            Some(Answer::Error) => Some(Err(json!({ "code": -32603, "message": "the dialog crashed" }))),
            Some(Answer::Never) => {
                self.until(|state| state.taken_back.contains(id)).await;
                outcome(json!({ "outcome": "cancelled" }))
            }
            None if self.script.answers.allows => {
                outcome(json!({ "outcome": "selected", "optionId": "allow_once" }))
            }
            None => {
                self.lock().record_violation("a permission was asked for that nobody expected".to_owned());
                outcome(json!({ "outcome": "cancelled" }))
            }
        }
    }

    async fn terminal(&self, method: &str, params: &Value) -> Response {
        let id = params.get("terminalId").and_then(Value::as_str).unwrap_or_default().to_owned();
        if method == "terminal/wait_for_exit" {
            let gone =
                |state: &State| state.terminals.get(&id).is_none_or(|t| t.released || t.exit().is_some());
            self.until(gone).await;
        }
        let mut state = self.lock();
        if method == "terminal/release" {
            // Recorded when the request arrived, independently of the response.
            return Ok(Value::Null);
        }
        let Some(terminal) = state.terminals.get_mut(&id).filter(|terminal| !terminal.released) else {
            if method != "terminal/wait_for_exit" {
                state.record_violation(format!("{method} of {id}, which does not exist or is released"));
            }
            return Err(json!({ "code": -32002, "message": "no such terminal" }));
        };
        let answer = match method {
            "terminal/output" => {
                let at = terminal.polls.min(terminal.script.polls.len().saturating_sub(1));
                let (output, truncated) = terminal.script.polls.get(at).cloned().unwrap_or_default();
                terminal.polls += 1;
                json!({ "output": output, "truncated": truncated, "exitStatus": terminal.exit() })
            }
            "terminal/kill" => {
                terminal.killed = true;
                Value::Null
            }
            _ => terminal.exit().unwrap_or_default(),
        };
        drop(state);
        self.changed.notify_waiters();
        Ok(answer)
    }

    async fn until(&self, fits: impl Fn(&State) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if fits(&self.lock()) {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a file as an editor shows it.
async fn decoded(disk: &dyn System, path: &AbsPath, decoding: Decoding) -> Option<String> {
    if decoding == Decoding::Proper {
        return disk.read_text(path, None).await.ok();
    }
    let bytes = disk.read(path).await.ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(match decoding {
        Decoding::Plain => text.trim_start_matches('\u{feff}').replace("\r\n", "\n"),
        _ => text,
    })
}

impl State {
    fn record_violation(&mut self, objection: String) {
        self.violations.push(objection);
    }

    fn handle_notification(&mut self, method: &str, params: &Value, script: &EditorScript) {
        match method {
            "$/cancel_request" => self.taken_back.push(params.get("requestId").cloned().unwrap_or_default()),
            "session/update" => {
                let session = params.get("sessionId").and_then(Value::as_str).unwrap_or_default();
                let kind =
                    params.pointer("/update/sessionUpdate").and_then(Value::as_str).unwrap_or_default();
                let update = &params["update"];
                if script.v2 {
                    self.handle_update(session, kind, update);
                }
                // The end of a background command changes the content of the call that started it.
                let of_background = kind == "tool_call_update" && update["status"].is_null();
                let of_a_turn = kind.ends_with("_chunk")
                    || (kind.starts_with("tool_call") && !of_background)
                    || kind.starts_with("plan")
                    || kind.starts_with("terminal");
                let in_a_turn =
                    self.turns.values().any(|turn| turn == session) || self.running.contains(session);
                if of_a_turn && !in_a_turn && !script.shares {
                    self.record_violation(format!("{kind} outside a turn: {params}"));
                }
            }
            "auth/status_update" => {}
            _ => self.record_violation(format!("unknown notification {method}")),
        }
    }

    /// Checks updates that exist in only one of the two versions.
    fn handle_update(&mut self, session: &str, kind: &str, update: &Value) {
        let id = |key: &str| update[key].as_str().unwrap_or_default().to_owned();
        match kind {
            "state_update" if update["state"] == "idle" => drop(self.running.remove(session)),
            "state_update" => drop(self.running.insert(session.to_owned())),
            "tool_call" | "plan" | "current_mode_update" => {
                self.record_violation(format!("{kind} is of the first version: {update}"));
            }
            "terminal_update" => drop(self.displayed.insert(id("terminalId"))),
            "terminal_output_chunk" if !self.displayed.contains(&id("terminalId")) => {
                self.record_violation(format!("output of a terminal that was not made: {update}"));
            }
            _ if (kind.contains("message") || kind.contains("thought")) && id("messageId").is_empty() => {
                self.record_violation(format!("{kind} without the id of its message: {update}"));
            }
            _ => {}
        }
        for content in update["content"].as_array().into_iter().flatten() {
            let terminal = content["terminalId"].as_str();
            if terminal.is_some_and(|terminal| !self.displayed.contains(terminal)) {
                self.record_violation(format!("a terminal that was not made: {update}"));
            }
        }
    }

    fn handle_response(&mut self, id: &Value, message: &Value) {
        let key = id.to_string();
        self.turns.remove(&key);
        let answer = match (message.get("result"), message.get("error")) {
            (Some(result), None) => Ok(result.clone()),
            (None, Some(error)) => Err(error.clone()),
            _ => return self.record_violation(format!("an answer with both or neither: {message}")),
        };
        match self.waiting.remove(&key) {
            // The test may have stopped waiting.
            Some(waiting) => drop(waiting.send(answer)),
            // Lines that are not requests are answered with a null id.
            None if id.is_null() => {}
            None => self.record_violation(format!("an answer nobody waits for: {message}")),
        }
    }

    fn form(&mut self) -> Response {
        if let Some(answer) = self.forms.pop_front() {
            return Ok(answer);
        }
        self.record_violation("a form was shown that nobody expected".to_owned());
        Ok(json!({ "action": "cancel" }))
    }

    /// Records the release of a terminal, which must happen once.
    fn handle_release(&mut self, params: &Value) {
        let id = params.get("terminalId").and_then(Value::as_str).unwrap_or_default();
        match self.terminals.get_mut(id) {
            Some(terminal) if !terminal.released => terminal.released = true,
            _ => self.record_violation(format!("a release of {id:?}, which does not exist or is released")),
        }
    }

    fn create_terminal(&mut self, script: &EditorScript, params: &Value) -> Response {
        let line = params.pointer("/args").and_then(Value::as_array).and_then(|args| args.last());
        let line = line.and_then(Value::as_str).unwrap_or_default();
        let reuses_ids = script.terminals.reuses_ids;
        let started = script.terminals.start.as_ref().map(|start_terminal| start_terminal(params));
        let Some(script) = started.or_else(|| script.terminals.by_line.get(line).cloned()) else {
            return Err(json!({ "code": -32603, "message": format!("no script for {line:?}") }));
        };
        self.ran.push(line.to_owned());
        let old = self.terminals.iter().find(|(_, terminal)| terminal.released).map(|(id, _)| id.clone());
        let id = match old.filter(|_| reuses_ids) {
            Some(id) => id,
            None => {
                self.terminals_created += 1;
                format!("term_{}", self.terminals_created)
            }
        };
        let running = Running { script, polls: 0, killed: false, released: false };
        self.terminals.insert(id.clone(), running);
        Ok(json!({ "terminalId": id }))
    }
}
