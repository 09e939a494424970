//! What a scripted editor has and how it answers.

use crate::facts::{self, Facts, SCRIPTED};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};
use system::System;

/// An editor to be played.
#[derive(Clone, Default)]
pub struct EditorScript {
    /// Speaks the second version of the protocol. It has no files and no terminals to offer then.
    pub second: bool,
    /// How it calls itself in `clientInfo`.
    pub name: Introduced,
    /// Advertises `fs/read_text_file`.
    pub read: bool,
    /// Advertises `fs/write_text_file`.
    pub write: bool,
    /// Advertises `terminal/*`.
    pub terminal: bool,
    /// Advertises that it logs in in a terminal.
    pub login: bool,
    /// Advertises notices.
    pub notices: bool,
    /// Advertises that it is told of the summing up of conversations.
    pub compaction: bool,
    /// Unsaved texts by absolute path.
    pub buffers: HashMap<String, String>,
    /// The files below the buffers.
    pub disk: Option<Arc<dyn System>>,
    /// What commands do, by the last of their arguments (the shell line).
    pub terminals: HashMap<String, TerminalScript>,
    /// What commands do by all of the parameters of `terminal/create`; `None`: as `terminals` has
    /// it.
    pub starts: Option<Starts>,
    /// What of a text is given for `line` and `limit`; `None`: the lines that were asked for.
    pub cuts: Option<Cuts>,
    /// Answers to permission requests, in order.
    pub permissions: VecDeque<Answer>,
    /// Shows forms, and answers them with these results, in order; one more than these is a violation.
    pub forms: Option<VecDeque<Value>>,
    /// Methods that are answered otherwise than an editor would.
    pub faults: HashMap<String, Fault>,
    /// Single calls that are answered otherwise than an editor would: the number among all of the agent's calls, from 1.
    pub fault_at: Option<(usize, Fault)>,
    /// Saves what it is given to the files below, instead of keeping it in a buffer.
    pub saves: bool,
    /// Answers a read of a file that is not there with no text.
    pub missing_is_empty: bool,
    /// How it decodes the files below, and what it puts there where it saves.
    pub decoding: Decoding,
    /// Answers writes at once and does them after this time.
    pub writes_after: Option<Duration>,
    /// Allows whatever is asked for once `permissions` is used up, instead of objecting.
    pub allows: bool,
    /// Others speak in its sessions too: their turns are none of its own.
    pub shares: bool,
    /// Takes events of the native layer.
    pub native: bool,
    /// Gives each terminal the id of the one released last.
    pub reuses_ids: bool,
}

impl EditorScript {
    /// An editor with buffers and terminals.
    pub fn full() -> Self {
        Self { read: true, write: true, terminal: true, ..Self::default() }
    }

    /// Puts the editor over files.
    pub fn over(mut self, disk: Arc<dyn System>) -> Self {
        self.disk = Some(disk);
        self
    }

    /// Adds an unsaved text.
    pub fn buffer(mut self, path: &str, text: &str) -> Self {
        self.buffers.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Says what a command does.
    pub fn command(mut self, line: &str, terminal: TerminalScript) -> Self {
        self.terminals.insert(line.to_owned(), terminal);
        self
    }

    /// Answers permission requests in this order; one more than these is a violation.
    pub fn permissions(mut self, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.permissions = answers.into_iter().collect();
        self
    }

    /// Answers a method otherwise than an editor would.
    pub fn fault(mut self, method: &str, fault: Fault) -> Self {
        self.faults.insert(method.to_owned(), fault);
        self
    }

    /// Answers the `number`th of the agent's calls, counted from 1, otherwise than an editor would.
    pub fn fault_at(mut self, number: usize, fault: Fault) -> Self {
        self.fault_at = Some((number, fault));
        self
    }

    /// An editor that speaks the second version of the protocol.
    pub fn second() -> Self {
        Self { second: true, ..Self::default() }
    }

    /// How it introduces itself.
    pub(super) fn introduction(&self) -> Value {
        if self.second {
            let info = json!({ "name": "editor", "version": "1" });
            return json!({ "protocolVersion": 2, "info": info, "capabilities": self.capabilities() });
        }
        let mut introduction = json!({ "protocolVersion": 1, "clientCapabilities": self.capabilities() });
        if let Some((name, version)) = self.name.words() {
            introduction["clientInfo"] = json!({ "name": name, "version": version });
        }
        introduction
    }

    /// What the agent knows of it by its name.
    pub fn facts(&self) -> Facts {
        let (name, version) = self.name.words().unzip();
        facts::look_up(name, version)
    }

    /// The capabilities it advertises.
    pub fn capabilities(&self) -> Value {
        if self.second {
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

/// What a command does, by the parameters of `terminal/create`.
pub type Starts = Arc<dyn Fn(&Value) -> TerminalScript + Send + Sync>;
/// What of a text is given for `line` and `limit`.
pub type Cuts = Arc<dyn Fn(&str, Option<usize>, Option<usize>) -> String + Send + Sync>;

/// How an editor calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Introduced {
    /// As one that is known to do all as the protocol has it.
    #[default]
    Known,
    /// Not at all.
    Not,
    /// By a name and a version.
    As(&'static str, &'static str),
}

impl Introduced {
    /// The name and the version.
    fn words(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Not => None,
            Self::As(name, version) => Some((name, version)),
            Self::Known => match SCRIPTED.names {
                [facts::Name::Is(name), ..] => Some((*name, SCRIPTED.version)),
                _ => None,
            },
        }
    }
}

/// How an editor decodes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decoding {
    /// As text; byte-order marks and line ends are kept when it saves.
    #[default]
    Proper,
    /// Bytes that are no text are replaced, a byte-order mark is part of the text; what it is given
    /// is saved as it is.
    Raw,
    /// The same without byte-order marks, and with every line end as `\n`.
    Plain,
}

/// An answer to a permission request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Chooses the option with this id, offered or not.
    Select(&'static str),
    /// The request was dismissed.
    Cancelled,
    /// An error.
    Error,
    /// None until the request is cancelled.
    Never,
}

/// An answer that no proper editor gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// A JSON-RPC error.
    Error(i64, &'static str),
    /// This result.
    Result(Value),
    /// It does what was asked, and answers with a JSON-RPC error.
    Done(i64, &'static str),
    /// Nothing.
    Silence,
    /// It does what was asked, and says so only after this time.
    Late(Duration),
    /// The same answer twice, under the same id.
    Twice,
}

/// What a command does in a terminal.
#[derive(Debug, Clone, Default)]
pub struct TerminalScript {
    /// The output as each look shows it, whether it was truncated; the last stays.
    pub looks: Vec<(String, bool)>,
    /// How it ends once every look was taken; `None`: it runs until it is killed.
    pub exit: Option<Value>,
    /// Whether it ignores being killed.
    pub stubborn: bool,
}

impl TerminalScript {
    /// Prints and exits.
    pub fn exits(output: &str, code: i64) -> Self {
        Self {
            looks: vec![(output.to_owned(), false)],
            exit: Some(json!({ "exitCode": code })),
            stubborn: false,
        }
    }

    /// Prints and runs on.
    pub fn hangs(output: &str) -> Self {
        Self { looks: vec![(output.to_owned(), false)], exit: None, stubborn: false }
    }
}
