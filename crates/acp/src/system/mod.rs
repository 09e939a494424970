//! The workspace through the client: text reads, text writes and commands where it advertises them, everything else on this machine.

mod call;
mod delta;
mod process;
mod range;

use self::{
    call::{CallError, Caller},
    process::AcpProcess,
};
use crate::v1::Outbox;
use agent::SessionId;
use agent_client_protocol::{Client, ConnectionTo, v1::schema as acp};
use async_trait::async_trait;
use serde_json::Value;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use system::{
    AbsPath, Command, Entry, FileKind, Metadata, Process, Route, Routes, System, SystemError, TextRange,
    WalkOptions,
};

/// What the client says it can do. The flags are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Advertised {
    /// `fs/read_text_file`.
    pub(crate) read: bool,
    /// `fs/write_text_file`.
    pub(crate) write: bool,
    /// `terminal/*`, unless commands are to run here.
    pub(crate) terminal: bool,
}

/// What the client turned out not to do, for the rest of the connection.
#[derive(Debug, Default)]
pub(crate) struct Demoted {
    read: AtomicBool,
    write: AtomicBool,
    terminal: AtomicBool,
}

/// A session's workspace through its client.
pub(crate) struct AcpSystem {
    local: Arc<dyn System>,
    caller: Caller,
    advertised: Advertised,
    demoted: Arc<Demoted>,
}

impl AcpSystem {
    /// The workspace of `session`, over `local`.
    pub(crate) fn new(
        local: Arc<dyn System>,
        session: SessionId,
        connection: ConnectionTo<Client>,
        outbox: Arc<Outbox>,
        advertised: Advertised,
        demoted: Arc<Demoted>,
        deadline: Duration,
    ) -> Self {
        let caller = Caller { connection, outbox, session, deadline };
        Self { local, caller, advertised, demoted }
    }

    async fn read_from_client(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, CallError> {
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let request = acp::ReadTextFileRequest::new(self.caller.session_id(), path.as_std())
            .line(range.map(|range| number(range.line)))
            .limit(range.map(|range| number(range.limit)));
        let answer = self.caller.call("fs/read_text_file", &request).await?;
        match answer.get("content") {
            Some(Value::String(text)) => Ok(text.strip_prefix('\u{feff}').unwrap_or(text).to_owned()),
            // An absent text is a fault of the client, never an empty file.
            _ => Err(CallError::Unsupported),
        }
    }

    /// What a refused read comes to. A file that the editor does not know (it lies outside the project, it is missing) is read from the disk.
    /// For other refusals the disk only helps to say what is wrong: a buffer may hold another text.
    async fn read_refused(
        &self,
        path: &AbsPath,
        range: Option<TextRange>,
        error: CallError,
    ) -> Result<String, SystemError> {
        match error {
            CallError::Unsupported => {
                self.demote(&self.demoted.read, "fs/read_text_file");
                self.local.read_text(path, range).await
            }
            CallError::Refused { code: RESOURCE_NOT_FOUND, .. } => self.local.read_text(path, range).await,
            error @ CallError::Refused { .. } => {
                self.local.read_text(path, range).await?;
                Err(self.caller.failure("reading", path.as_str(), error))
            }
            error => Err(self.caller.failure("reading", path.as_str(), error)),
        }
    }

    /// Local from now on, with one line in the log.
    fn demote(&self, flag: &AtomicBool, method: &str) {
        if !flag.swap(true, Ordering::Relaxed) {
            tracing::warn!(method, "the client advertised this but does not do it; done locally from now on");
        }
    }

    async fn make_folder(&self, path: &AbsPath) -> Result<(), SystemError> {
        match path.parent() {
            Some(folder) if self.local.metadata(&folder).await.is_err() => {
                self.local.create_dir_all(&folder).await
            }
            _ => Ok(()),
        }
    }
}

const RESOURCE_NOT_FOUND: i32 = -32002;
const INVALID_PARAMS: i32 = -32602;

fn route(advertised: bool, demoted: &AtomicBool) -> Route {
    if advertised && !demoted.load(Ordering::Relaxed) { Route::Client } else { Route::Local }
}

#[async_trait]
impl System for AcpSystem {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.local.read(path).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        if self.routes().read_text != Route::Client {
            return self.local.read_text(path, range).await;
        }
        match (self.read_from_client(path, range).await, range) {
            // Some clients ship the file whole whatever is asked for.
            (Ok(text), Some(range)) if range::lines(&text) > range.limit => Ok(range::cut(&text, range)),
            (Ok(text), _) => Ok(text),
            // Some clients refuse a range past the end, which is the empty text.
            (Err(CallError::Refused { code: INVALID_PARAMS, .. }), Some(range)) if range.line > 1 => {
                match self.read_from_client(path, None).await {
                    Ok(text) => Ok(range::cut(&text, range)),
                    Err(error) => self.read_refused(path, Some(range), error).await,
                }
            }
            (Err(error), _) => self.read_refused(path, range, error).await,
        }
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.local.write(path, bytes).await
    }

    async fn write_text(&self, path: &AbsPath, text: &str) -> Result<(), SystemError> {
        if self.routes().write_text != Route::Client {
            return self.local.write_text(path, text).await;
        }
        self.make_folder(path).await?;
        let request = acp::WriteTextFileRequest::new(self.caller.session_id(), path.as_std(), text);
        match self.caller.call("fs/write_text_file", &request).await {
            // Null, an empty object, whatever: it was answered without an error.
            Ok(_) => Ok(()),
            Err(CallError::Unsupported) => {
                self.demote(&self.demoted.write, "fs/write_text_file");
                self.local.write_text(path, text).await
            }
            Err(error) => {
                // The disk may know better what is wrong than the client says.
                match self.local.metadata(path).await {
                    Ok(Metadata { kind: FileKind::Directory, .. }) => {
                        Err(SystemError::IsDirectory(path.clone()))
                    }
                    _ => Err(self.caller.failure("writing", path.as_str(), error)),
                }
            }
        }
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        self.local.metadata(path).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        self.local.read_dir(path).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.local.create_dir_all(path).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.local.remove(path).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        self.local.rename(from, to).await
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        self.local.resolve(path).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        self.local.walk(root, options).await
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
        if self.routes().spawn != Route::Client {
            return self.local.spawn(command).await;
        }
        match AcpProcess::start(&self.caller, &command).await {
            Ok(process) => Ok(Box::new(process)),
            // The client said no before anything ran, so it runs here, once.
            Err(CallError::Unsupported) => {
                self.demote(&self.demoted.terminal, "terminal/create");
                self.local.spawn(command).await
            }
            Err(CallError::Refused { code, message }) => {
                tracing::warn!(code, message, "the client refused a terminal; the command runs locally");
                self.local.spawn(command).await
            }
            // It answered without a terminal: the command may have run, so it never runs again.
            Err(CallError::BadAnswer(message)) => {
                self.demote(&self.demoted.terminal, "terminal/create");
                Err(self.caller.failure("running", &command.program, CallError::BadAnswer(message)))
            }
            Err(error) => Err(self.caller.failure("running", &command.program, error)),
        }
    }

    fn routes(&self) -> Routes {
        Routes {
            read_text: route(self.advertised.read, &self.demoted.read),
            write_text: route(self.advertised.write, &self.demoted.write),
            spawn: route(self.advertised.terminal, &self.demoted.terminal),
        }
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        self.local.read_text_on_disk(path).await
    }
}

#[cfg(test)]
mod tests;
