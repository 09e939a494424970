//! The editor of the demo: buffers that may differ from the disk, terminals, and an approver for
//! permission requests.

use super::{
    ledger::{Ledger, Permission, Read, Run},
    peer::{Incoming, Peer, Refusal},
    permission::Approver,
    project,
    screen::{Paint, Screen},
    terminals::{Event, Terminals},
    updates::Updates,
};
use crate::limits;
use anyhow::Result;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System, SystemError};

/// An editor with its agent.
pub(super) struct Editor {
    pub(super) peer: Peer,
    pub(super) screen: Screen,
    pub(super) ledger: Ledger,
    system: Arc<dyn System>,
    root: AbsPath,
    buffers: BTreeMap<AbsPath, Buffer>,
    terminals: Terminals,
    printed_lines: usize,
    updates: Updates,
    approver: Approver,
}

/// The buffer of an open file.
struct Buffer {
    text: String,
    saved: bool,
}

impl Editor {
    /// Creates an editor with no open files.
    pub(super) fn new(
        peer: Peer,
        screen: Screen,
        system: Arc<dyn System>,
        root: AbsPath,
        approver: Approver,
    ) -> Self {
        Self {
            peer,
            screen,
            ledger: Ledger::default(),
            terminals: Terminals::new(Arc::clone(&system)),
            system,
            updates: Updates::new(root.clone()),
            root,
            buffers: BTreeMap::new(),
            printed_lines: 0,
            approver,
        }
    }

    /// Opens a buffer with unsaved text.
    pub(super) fn type_unsaved(&mut self, path: AbsPath, text: String) {
        self.buffers.insert(path, Buffer { text, saved: false });
    }

    /// Returns the text of an open buffer.
    pub(super) fn buffer(&self, path: &AbsPath) -> Option<&str> {
        self.buffers.get(path).map(|buffer| buffer.text.as_str())
    }

    /// Returns how many terminals the agent has not released.
    pub(super) fn unreleased(&self) -> usize {
        self.terminals.unreleased()
    }

    /// Sends a request, and serves the agent's requests until the response arrives.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let asked = self.peer.request(method, params).await?;
        loop {
            tokio::select! {
                // A command's output is shown before the agent's message about it.
                biased;
                (id, event) = self.terminals.next() => self.terminal_event(&id, event).await?,
                incoming = self.peer.next() => match incoming? {
                    Incoming::Response { id, result } if id == asked => {
                        return result.map_err(|message| anyhow::anyhow!("{method}: {message}"));
                    }
                    Incoming::Response { id, .. } => anyhow::bail!("the agent answered request {id}, which is not open"),
                    Incoming::Request { id, method, params } => self.serve(&id, &method, &params).await?,
                    Incoming::Notification { params, .. } => self.updates.show(&params["update"], &mut self.screen),
                },
            }
        }
    }

    async fn serve(&mut self, id: &Value, method: &str, params: &Value) -> Result<()> {
        let answer = match method {
            "fs/read_text_file" => self.read(params).await,
            "fs/write_text_file" => self.write(params).await,
            "terminal/create" => self.create_terminal(params).await,
            "terminal/output" => self.terminals.output(params),
            "terminal/wait_for_exit" => match self.terminals.wait(params, id) {
                Some(answer) => answer,
                None => return Ok(()),
            },
            "terminal/kill" => self.terminals.kill(params),
            "terminal/release" => self.terminals.release(params),
            "session/request_permission" => Ok(self.ask(params).await),
            _ => Err(Refusal(-32601, format!("this editor does not support {method}"))),
        };
        self.peer.respond(id, answer).await
    }

    async fn read(&mut self, params: &Value) -> Result<Value, Refusal> {
        let path = path(params)?;
        let shown = self.shown(&path);
        let (text, unsaved) = match self.buffers.get(&path) {
            Some(buffer) => (buffer.text.clone(), !buffer.saved),
            None => (self.system.read_text(&path, None).await.map_err(refusal)?, false),
        };
        self.buffers.entry(path).or_insert_with(|| Buffer { text: text.clone(), saved: true });
        let source = if unsaved { "the unsaved buffer" } else { "the buffer, as saved" };
        let text = range(&text, params);
        let step = format!("reads {shown}: {} lines from {source}", text.lines().count());
        self.screen.step("editor", Paint::Blue, &step);
        if unsaved && text.contains(project::UNSAVED) && !self.ledger.reads.iter().any(|read| read.unsaved) {
            self.screen.detail(Paint::Dim, &format!("one of them is not on disk: {}", project::UNSAVED));
        }
        self.ledger.reads.push(Read { path: shown, unsaved });
        Ok(json!({ "content": text }))
    }

    async fn write(&mut self, params: &Value) -> Result<Value, Refusal> {
        let path = path(params)?;
        let text = params["content"].as_str().ok_or_else(|| Refusal(-32602, "no content".to_owned()))?;
        // As in real editors: the buffer takes the text, with undo and review, and is saved.
        let was = self.system.read_text_on_disk(&path).await.map_err(refusal)?;
        self.system.replace_text(&path, was.as_deref(), text).await.map_err(refusal)?;
        let shown = self.shown(&path);
        let lines = text.lines().count();
        self.screen.step(
            "editor",
            Paint::Blue,
            &format!("takes {shown}: {lines} lines into the buffer, and saves it"),
        );
        self.buffers.insert(path, Buffer { text: text.to_owned(), saved: true });
        self.ledger.writes.push(shown);
        Ok(Value::Null)
    }

    async fn create_terminal(&mut self, params: &Value) -> Result<Value, Refusal> {
        let (id, command) = self.terminals.create(params).await?;
        self.screen.step("terminal", Paint::Magenta, &format!("$ {command}"));
        self.printed_lines = 0;
        Ok(json!({ "terminalId": id }))
    }

    async fn terminal_event(&mut self, id: &str, event: Event) -> Result<()> {
        match event {
            Event::Output(text) => {
                self.terminals.append_output(id, &text);
                for line in text.lines() {
                    self.printed_lines += 1;
                    if self.printed_lines <= limits::DEMO_TERMINAL_LINES {
                        self.screen.detail(Paint::Plain, &format!("│ {line}"));
                    }
                }
            }
            Event::Exit(status) => {
                let Some(ended) = self.terminals.ended(id, status) else { return Ok(()) };
                let end = match (&ended.status.code, &ended.status.signal) {
                    (Some(code), _) => format!("exit {code}"),
                    (None, Some(signal)) => signal.clone(),
                    (None, None) => "ended with an unknown status".to_owned(),
                };
                let success = ended.status.success();
                if let Some(more) = self.printed_lines.checked_sub(limits::DEMO_TERMINAL_LINES + 1) {
                    self.screen.detail(Paint::Dim, &format!("│ … {} more lines", more + 1));
                }
                self.screen.detail(if success { Paint::Green } else { Paint::Red }, &format!("└ {end}"));
                for request in &ended.waiting {
                    self.peer.respond(request, Ok(ended.answer())).await?;
                }
                self.ledger.terminals.push(Run { command: ended.command, success, end });
            }
        }
        Ok(())
    }

    async fn ask(&mut self, params: &Value) -> Value {
        self.updates.remember(&params["toolCall"]);
        let title = self.updates.title(&params["toolCall"]);
        self.screen.step("asks", Paint::Yellow, &format!("may I? {title}"));
        let choice = self.approver.choose(&params["options"], &mut self.screen).await;
        let answer = choice.as_ref().map_or("dismissed", |choice| choice.name.as_str()).to_owned();
        let allowed = choice.as_ref().is_some_and(|choice| choice.allows);
        self.screen.step("you", Paint::Green, &answer);
        self.ledger.permissions.push(Permission { title, answer, allowed });
        match choice {
            Some(choice) => json!({ "outcome": { "outcome": "selected", "optionId": choice.id } }),
            None => json!({ "outcome": { "outcome": "cancelled" } }),
        }
    }

    fn shown(&self, path: &AbsPath) -> String {
        path.relative_to(&self.root).unwrap_or(path.as_str()).to_owned()
    }
}

fn path(params: &Value) -> Result<AbsPath, Refusal> {
    let text = params["path"].as_str().ok_or_else(|| Refusal(-32602, "no path".to_owned()))?;
    AbsPath::new(text).map_err(|error| Refusal(-32602, error.to_string()))
}

/// Returns the requested lines: from `line` (1-based), at most `limit`.
fn range(text: &str, params: &Value) -> String {
    let first = params["line"].as_u64().map_or(0, |line| line.saturating_sub(1));
    let limit = params["limit"].as_u64().unwrap_or(u64::MAX);
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    text.split_inclusive('\n').skip(count(first)).take(count(limit)).collect()
}

fn refusal(error: SystemError) -> Refusal {
    match error.is_not_found() {
        true => Refusal(-32002, error.to_string()),
        false => Refusal(-32603, error.to_string()),
    }
}
