//! The capabilities and responses of a scripted editor.

use crate::client_facts::{self, ClientFacts, SCRIPTED};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};
use system::System;

/// The script of an editor.
#[derive(Clone, Default)]
pub struct EditorScript {
    /// Speaks version 2 of the protocol. It then offers neither files nor terminals.
    pub v2: bool,
    /// The name it sends in `clientInfo`.
    pub name: ClientName,
    /// Advertises `fs/read_text_file`.
    pub read: bool,
    /// Advertises `fs/write_text_file`.
    pub write: bool,
    /// Advertises `terminal/*`.
    pub terminal: bool,
    /// Advertises authentication in a terminal.
    pub login: bool,
    /// Advertises notices.
    pub notices: bool,
    /// Advertises compaction updates.
    pub compaction: bool,
    /// Unsaved buffers by absolute path.
    pub buffers: HashMap<String, String>,
    /// The files on disk.
    pub disk: Option<Arc<dyn System>>,
    /// What commands do, by their last argument (the shell line).
    pub terminals: HashMap<String, TerminalScript>,
    /// What commands do, by all parameters of `terminal/create`; `None` to use `terminals`.
    pub start_terminal: Option<StartTerminal>,
    /// The part of a text returned for `line` and `limit`; `None` for the requested lines.
    pub cut_range: Option<CutRange>,
    /// Responses to permission requests, in order.
    pub permissions: VecDeque<Answer>,
    /// Supports forms, and answers them with these results, in order; a further form is a
    /// violation.
    pub forms: Option<VecDeque<Value>>,
    /// Methods with a fault.
    pub faults: HashMap<String, Fault>,
    /// A single call with a fault: its number among all of the agent's calls, from 1.
    pub fault_at: Option<(usize, Fault)>,
    /// Saves writes to disk instead of keeping them in a buffer.
    pub saves: bool,
    /// Answers a read of a missing file with an empty text.
    pub missing_is_empty: bool,
    /// How it decodes files from disk, and encodes them when it saves.
    pub decoding: Decoding,
    /// Responds to writes immediately and performs them after this time.
    pub writes_after: Option<Duration>,
    /// Allows every permission request after `permissions` is used up, instead of objecting.
    pub allows: bool,
    /// Other clients use its sessions too, so that updates may belong to their turns.
    pub shares: bool,
    /// Accepts native events.
    pub native: bool,
    /// Reuses the ids of released terminals for new ones.
    pub reuses_ids: bool,
}

impl EditorScript {
    /// Returns an editor with buffers and terminals.
    pub fn full() -> Self {
        Self { read: true, write: true, terminal: true, ..Self::default() }
    }

    /// Sets the files on disk.
    pub fn over(mut self, disk: Arc<dyn System>) -> Self {
        self.disk = Some(disk);
        self
    }

    /// Adds an unsaved buffer.
    pub fn buffer(mut self, path: &str, text: &str) -> Self {
        self.buffers.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Sets what a command does.
    pub fn command(mut self, line: &str, terminal: TerminalScript) -> Self {
        self.terminals.insert(line.to_owned(), terminal);
        self
    }

    /// Sets the responses to permission requests, in order; a further request is a violation.
    pub fn permissions(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.permissions = answers.into_iter().collect();
        self
    }

    /// Sets a fault for a method.
    pub fn fault(mut self, method: &str, fault: Fault) -> Self {
        self.faults.insert(method.to_owned(), fault);
        self
    }

    /// Sets a fault for the agent's call with this number, counted from 1.
    pub fn fault_at(mut self, number: usize, fault: Fault) -> Self {
        self.fault_at = Some((number, fault));
        self
    }

    /// Returns an editor that speaks version 2 of the protocol.
    pub fn v2() -> Self {
        Self { v2: true, ..Self::default() }
    }

    /// Returns the parameters of its `initialize` request.
    pub(super) fn initialize_params(&self) -> Value {
        if self.v2 {
            let info = json!({ "name": "editor", "version": "1" });
            return json!({ "protocolVersion": 2, "info": info, "capabilities": self.capabilities() });
        }
        let mut initialize_params =
            json!({ "protocolVersion": 1, "clientCapabilities": self.capabilities() });
        if let Some((name, version)) = self.name.name_and_version() {
            initialize_params["clientInfo"] = json!({ "name": name, "version": version });
        }
        initialize_params
    }

    /// Returns the facts that the agent knows by its name.
    pub fn facts(&self) -> ClientFacts {
        let (name, version) = self.name.name_and_version().unzip();
        client_facts::look_up(name, version)
    }

    /// Returns the capabilities that it advertises.
    pub fn capabilities(&self) -> Value {
        if self.v2 {
            return json!({ "elicitation": if self.forms.is_some() { json!({ "form": {} }) } else { json!({}) } });
        }
        let mut session = json!({});
        for (name, takes) in [("notices", self.notices), ("compaction", self.compaction)] {
            if takes {
                session[name] = json!({});
            }
        }
        json!({
            "fs": { "readTextFile": self.read, "writeTextFile": self.write },
            "terminal": self.terminal,
            "session": session,
            "auth": { "terminal": self.login },
            "elicitation": if self.forms.is_some() { json!({ "form": {} }) } else { json!({}) },
        })
    }

    pub(super) fn advertises(&self, method: &str) -> bool {
        match method {
            "fs/read_text_file" => self.read,
            "fs/write_text_file" => self.write,
            "session/request_permission" => true,
            "elicitation/create" => self.forms.is_some(),
            _ => self.terminal && method.starts_with("terminal/"),
        }
    }
}

/// Decides what a command does, by the parameters of `terminal/create`.
pub type StartTerminal = Arc<dyn Fn(&Value) -> TerminalScript + Send + Sync>;
/// Selects the part of a text returned for `line` and `limit`.
pub type CutRange = Arc<dyn Fn(&str, Option<usize>, Option<usize>) -> String + Send + Sync>;

/// The name that an editor sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientName {
    /// The name of the client that is known to follow the protocol exactly.
    #[default]
    Known,
    /// None.
    Not,
    /// This name and version.
    As(&'static str, &'static str),
}

impl ClientName {
    /// Returns the name and the version.
    fn name_and_version(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Not => None,
            Self::As(name, version) => Some((name, version)),
            Self::Known => match SCRIPTED.names {
                [client_facts::Name::Is(name), ..] => Some((*name, SCRIPTED.version)),
                _ => None,
            },
        }
    }
}

/// How an editor decodes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decoding {
    /// As text; byte-order marks and line endings are kept when it saves.
    #[default]
    Proper,
    /// As UTF-8 with invalid bytes replaced; a byte-order mark is part of the text. Writes are
    /// saved unchanged.
    Raw,
    /// As [`Self::Raw`], but without byte-order marks, and with every line ending as `\n`.
    Plain,
}

/// A response to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Selects the option with this id, whether or not it was offered.
    Select(&'static str),
    /// The request was dismissed.
    Cancelled,
    /// Responds with an error.
    Error,
    /// Does not respond until the request is cancelled.
    Never,
}

/// A response that a correct editor would not send.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// A JSON-RPC error.
    Error(i64, &'static str),
    /// Responds with this result.
    Result(Value),
    /// Performs the request, but responds with a JSON-RPC error.
    Done(i64, &'static str),
    /// Never responds.
    Silence,
    /// Performs the request, but responds only after this time.
    Late(Duration),
    /// Responds twice with the same result and id.
    Twice,
}

/// What a command does in a terminal.
#[derive(Debug, Clone, Default)]
pub struct TerminalScript {
    /// The output returned by each poll, and whether it was truncated; the last one is repeated.
    pub polls: Vec<(String, bool)>,
    /// The exit status after the last poll; `None` if it runs until killed.
    pub exit: Option<Value>,
    /// Whether it ignores being killed.
    pub ignores_kill: bool,
}

impl TerminalScript {
    /// A command that prints and exits.
    pub fn exits(output: &str, code: i64) -> Self {
        Self {
            polls: vec![(output.to_owned(), false)],
            exit: Some(json!({ "exitCode": code })),
            ignores_kill: false,
        }
    }

    /// A command that prints and keeps running.
    pub fn hangs(output: &str) -> Self {
        Self { polls: vec![(output.to_owned(), false)], exit: None, ignores_kill: false }
    }
}
