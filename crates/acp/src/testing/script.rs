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
    pub(super) v2: bool,
    /// The name it sends in `clientInfo`.
    pub(super) name: ClientName,
    /// What it advertises.
    pub(super) offers: Offers,
    /// How it reads and writes files.
    pub(super) files: ScriptedFiles,
    /// What its terminals do.
    pub(super) terminals: ScriptedTerminals,
    /// How its user answers.
    pub(super) answers: ScriptedAnswers,
    /// Which calls have a fault.
    pub(super) faults: ScriptedFaults,
    /// Other clients use its sessions too, so that updates may belong to their turns.
    pub(super) shares: bool,
}

/// What an editor advertises.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Offers {
    /// `fs/read_text_file`.
    read: bool,
    /// `fs/write_text_file`.
    write: bool,
    /// `terminal/*`.
    terminal: bool,
    /// Authentication in a terminal.
    login: bool,
    /// Native events are accepted.
    pub(super) native: bool,
}

/// How an editor reads and writes files.
#[derive(Clone, Default)]
pub(super) struct ScriptedFiles {
    /// Unsaved buffers by absolute path.
    pub(super) buffers: HashMap<String, String>,
    /// The files on disk.
    pub(super) disk: Option<Arc<dyn System>>,
    /// The part of a text returned for `line` and `limit`; `None` for the requested lines.
    pub(super) cut_range: Option<CutRange>,
    /// Answers a read of a missing file with an empty text.
    pub(super) missing_is_empty: bool,
    /// How it decodes files from disk, and encodes them when it saves.
    pub(super) decoding: Decoding,
    /// Saves writes to disk instead of keeping them in a buffer.
    pub(super) saves: bool,
    /// Responds to writes immediately and performs them after this time.
    pub(super) writes_after: Option<Duration>,
}

/// What the terminals of an editor do.
#[derive(Clone, Default)]
pub(super) struct ScriptedTerminals {
    /// What commands do, by their last argument (the shell line).
    pub(super) by_line: HashMap<String, TerminalScript>,
    /// What commands do, by all parameters of `terminal/create`; `None` to use `by_line`.
    pub(super) start: Option<StartTerminal>,
    /// Reuses the ids of released terminals for new ones.
    pub(super) reuses_ids: bool,
}

/// How the user of an editor answers.
#[derive(Clone, Default)]
pub(super) struct ScriptedAnswers {
    /// Responses to permission requests, in order.
    pub(super) permissions: VecDeque<Answer>,
    /// Allows every permission request after `permissions` is used up, instead of objecting.
    pub(super) allows: bool,
    /// Supports forms, and answers them with these results, in order; a further form is a
    /// violation.
    pub(super) forms: Option<VecDeque<Value>>,
}

/// The calls with a fault.
#[derive(Clone, Default)]
pub(super) struct ScriptedFaults {
    /// Methods with a fault.
    pub(super) by_method: HashMap<String, Fault>,
    /// A single call with a fault: its number among all of the agent's calls, from 1.
    pub(super) by_number: Option<(usize, Fault)>,
}

impl EditorScript {
    /// Returns an editor with buffers and terminals.
    pub fn full() -> Self {
        Self::default().offering(true, true, true)
    }

    /// Returns an editor that speaks version 2 of the protocol.
    pub fn v2() -> Self {
        Self::default().version_2(true)
    }

    /// Sets whether it speaks version 2 of the protocol.
    pub fn version_2(mut self, v2: bool) -> Self {
        self.v2 = v2;
        self
    }

    /// Sets the name that it sends.
    pub fn named(mut self, name: ClientName) -> Self {
        self.name = name;
        self
    }

    /// Sets whether it advertises `fs/read_text_file`, `fs/write_text_file` and `terminal/*`.
    pub fn offering(mut self, read: bool, write: bool, terminal: bool) -> Self {
        self.offers = Offers { read, write, terminal, ..self.offers };
        self
    }

    /// Advertises authentication in a terminal.
    pub fn login(mut self) -> Self {
        self.offers.login = true;
        self
    }

    /// Accepts native events.
    pub fn native(mut self) -> Self {
        self.offers.native = true;
        self
    }

    /// Shares its sessions with other clients, so that updates may belong to their turns.
    pub fn sharing(mut self) -> Self {
        self.shares = true;
        self
    }

    /// Sets the files on disk.
    pub fn over(mut self, disk: Arc<dyn System>) -> Self {
        self.files.disk = Some(disk);
        self
    }

    /// Adds an unsaved buffer.
    pub fn buffer(mut self, path: &str, text: &str) -> Self {
        self.files.buffers.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Sets the part of a text returned for `line` and `limit`.
    pub fn cut_range(mut self, cut_range: CutRange) -> Self {
        self.files.cut_range = Some(cut_range);
        self
    }

    /// Answers a read of a missing file with an empty text.
    pub fn missing_is_empty(mut self) -> Self {
        self.files.missing_is_empty = true;
        self
    }

    /// Sets how it decodes files from disk, and encodes them when it saves.
    pub fn decoding(mut self, decoding: Decoding) -> Self {
        self.files.decoding = decoding;
        self
    }

    /// Saves writes to disk instead of keeping them in a buffer.
    pub fn saving(mut self) -> Self {
        self.files.saves = true;
        self
    }

    /// Responds to writes immediately and performs them after this time.
    pub fn writes_after(mut self, time: Duration) -> Self {
        self.files.writes_after = Some(time);
        self
    }

    /// Sets what a command does.
    pub fn command(mut self, line: &str, terminal: TerminalScript) -> Self {
        self.terminals.by_line.insert(line.to_owned(), terminal);
        self
    }

    /// Sets what commands do, by all parameters of `terminal/create`.
    pub fn start_terminal(mut self, start: StartTerminal) -> Self {
        self.terminals.start = Some(start);
        self
    }

    /// Sets whether the ids of released terminals are reused for new ones.
    pub fn reuses_ids(mut self, reuses_ids: bool) -> Self {
        self.terminals.reuses_ids = reuses_ids;
        self
    }

    /// Sets the responses to permission requests, in order; a further request is a violation.
    pub fn permissions(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.answers.permissions = answers.into_iter().collect();
        self
    }

    /// Allows every permission request that has no other response.
    pub fn allowing(mut self) -> Self {
        self.answers.allows = true;
        self
    }

    /// Supports forms, and answers them with these results, in order; a further form is a
    /// violation.
    pub fn forms(mut self, results: impl IntoIterator<Item = Value>) -> Self {
        self.answers.forms = Some(results.into_iter().collect());
        self
    }

    /// Sets a fault for a method.
    pub fn fault(mut self, method: &str, fault: Fault) -> Self {
        self.faults.by_method.insert(method.to_owned(), fault);
        self
    }

    /// Sets a fault for the agent's call with this number, counted from 1.
    pub fn fault_at(mut self, number: usize, fault: Fault) -> Self {
        self.faults.by_number = Some((number, fault));
        self
    }

    /// Returns whether it speaks version 2 of the protocol.
    pub fn is_version_2(&self) -> bool {
        self.v2
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
        let elicitation = if self.answers.forms.is_some() { json!({ "form": {} }) } else { json!({}) };
        if self.v2 {
            return json!({ "elicitation": elicitation });
        }
        let Offers { read, write, terminal, login, .. } = self.offers;
        json!({
            "fs": { "readTextFile": read, "writeTextFile": write },
            "terminal": terminal,
            "session": {},
            "auth": { "terminal": login },
            "elicitation": elicitation,
        })
    }

    /// Returns whether it advertises a method.
    pub(crate) fn advertises(&self, method: &str) -> bool {
        match method {
            "fs/read_text_file" => self.offers.read,
            "fs/write_text_file" => self.offers.write,
            "session/request_permission" => true,
            "elicitation/create" => self.answers.forms.is_some(),
            _ => self.offers.terminal && method.starts_with("terminal/"),
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
