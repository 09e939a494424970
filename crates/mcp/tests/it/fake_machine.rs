//! A system whose programs are played by the test. Their streams are in memory, so that the paused
//! clock advances when every task waits.

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::{
    AbsPath, Command, Entry, ExitStatus, FakeSystem, Metadata, Output, Piped, PipedCommand, Process, Routes,
    System, SystemError, TerminalId, TextRange, WalkOptions,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::{Notify, mpsc},
    task::AbortHandle,
    time::Instant,
};

/// Capacity of a pipe, in bytes; a writer waits when it is full.
const PIPE: usize = 64 * 1024;

/// The behaviour of a program. The number counts its earlier starts.
type Behaviour = Arc<dyn Fn(Streams, usize) -> BoxFuture<'static, ()> + Send + Sync>;

/// The system. Its files are those of a `FakeSystem`.
pub(crate) struct FakeMachine {
    files: FakeSystem,
    behaviours: Mutex<HashMap<String, Behaviour>>,
    started: Mutex<Vec<(PipedCommand, Instant)>>,
    received: Arc<Received>,
}

/// All messages that programs received.
#[derive(Default)]
pub(crate) struct Received {
    messages: Mutex<Vec<(String, Value)>>,
    more: Notify,
}

/// The program's side of its streams.
pub(crate) struct Streams {
    program: String,
    input: BufReader<DuplexStream>,
    pub(crate) output: DuplexStream,
    pub(crate) errors: mpsc::UnboundedSender<String>,
    received: Arc<Received>,
}

/// A program's reaction to a message.
pub(crate) enum Reaction {
    /// Responds with a result.
    Reply(Value),
    /// Responds with an error.
    Fail(&'static str),
    /// Writes a line verbatim.
    Line(String),
    /// Exits.
    End,
}

impl FakeMachine {
    pub(crate) fn new() -> Arc<Self> {
        let files = FakeSystem::new();
        files.add_dir("/w");
        let (behaviours, started, received) =
            <(Mutex<HashMap<_, _>>, Mutex<Vec<_>>, Arc<Received>)>::default();
        Arc::new(Self { files, behaviours, started, received })
    }

    pub(crate) fn files(&self) -> &FakeSystem {
        &self.files
    }

    /// Adds a program with this behaviour.
    pub(crate) fn program<F, T>(&self, name: &str, behaviour: F)
    where
        F: Fn(Streams, usize) -> T + Send + Sync + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let behaviour: Behaviour = Arc::new(move |streams, before| Box::pin(behaviour(streams, before)));
        lock(&self.behaviours).insert(name.to_owned(), behaviour);
    }

    /// Adds a program that reacts to each message independently; with no acts it ignores the
    /// message.
    pub(crate) fn answers(&self, name: &str, acts: impl Fn(&Value) -> Vec<Reaction> + Send + Sync + 'static) {
        let acts = Arc::new(acts);
        self.program(name, move |mut streams, _| {
            let acts = Arc::clone(&acts);
            async move {
                while let Some(message) = streams.next().await {
                    for act in acts(&message) {
                        if !streams.act(&message, act).await {
                            return;
                        }
                    }
                }
            }
        });
    }

    /// Returns the times at which a program was started.
    pub(crate) fn starts(&self, name: &str) -> Vec<Instant> {
        let started = lock(&self.started);
        started.iter().filter(|(command, _)| command.program == name).map(|(_, at)| *at).collect()
    }

    pub(crate) fn received(&self) -> &Received {
        &self.received
    }
}

impl Received {
    /// Returns the messages with this method that a program has received so far.
    pub(crate) fn with_method(&self, program: &str, method: &str) -> Vec<Value> {
        let all = lock(&self.messages);
        let matching = all.iter().filter(|(by, message)| by == program && message["method"] == method);
        matching.map(|(_, message)| message.clone()).collect()
    }

    /// Returns all messages that a program has received so far.
    pub(crate) fn all(&self, program: &str) -> Vec<Value> {
        let all = lock(&self.messages);
        all.iter().filter(|(by, _)| by == program).map(|(_, message)| message.clone()).collect()
    }

    /// Waits until a program receives a message with this method.
    pub(crate) async fn wait_for(&self, program: &str, method: &str) -> Value {
        loop {
            let mut more = std::pin::pin!(self.more.notified());
            more.as_mut().enable();
            if let Some(message) = self.with_method(program, method).pop() {
                return message;
            }
            more.await;
        }
    }
}

impl Streams {
    /// Reads the next message; `None` at the end of the input.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        if self.input.read_line(&mut line).await.unwrap_or(0) == 0 {
            return None;
        }
        let message: Value = serde_json::from_str(&line).expect("we write one message a line");
        lock(&self.received.messages).push((self.program.clone(), message.clone()));
        self.received.more.notify_waiters();
        Some(message)
    }

    /// Performs an act; returns whether the program continues.
    pub(crate) async fn act(&mut self, message: &Value, act: Reaction) -> bool {
        let id = &message["id"];
        let line = match act {
            Reaction::Reply(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string(),
            Reaction::Fail(why) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": why } }).to_string()
            }
            Reaction::Line(line) => line,
            Reaction::End => return false,
        };
        self.output.write_all(format!("{line}\n").as_bytes()).await.is_ok()
    }
}

/// Returns the acts of a server that lists these tools and ignores everything else.
pub(crate) fn default_reactions(message: &Value, tools: &Value) -> Vec<Reaction> {
    match message["method"].as_str() {
        Some("initialize") => vec![Reaction::Reply(json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "played", "version": "1" },
        }))],
        Some("tools/list") => vec![Reaction::Reply(json!({ "tools": tools }))],
        _ => Vec::new(),
    }
}

/// Returns the definition of a tool that accepts any arguments.
pub(crate) fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("Does {name}"), "inputSchema": { "type": "object" } })
}

/// Returns the act that responds to a call with text.
pub(crate) fn text(text: &str) -> Reaction {
    Reaction::Reply(json!({ "content": [{ "type": "text", "text": text }] }))
}

fn lock<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

struct FakeProcess {
    errors: mpsc::UnboundedReceiver<String>,
    task: AbortHandle,
}

#[async_trait]
impl Process for FakeProcess {
    fn terminal(&self) -> Option<&TerminalId> {
        None
    }

    async fn next_output(&mut self) -> Option<Output> {
        self.errors.recv().await.map(Output::Text)
    }

    async fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        Ok(ExitStatus::default())
    }

    async fn kill(&mut self) {
        self.task.abort();
    }
}

impl Drop for FakeProcess {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[async_trait]
impl System for FakeMachine {
    async fn create_own_directory(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.files.create_dir_all(path).await
    }

    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.files.read(path).await
    }

    async fn read_text(&self, path: &AbsPath, range: Option<TextRange>) -> Result<String, SystemError> {
        self.files.read_text(path, range).await
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.files.write(path, bytes).await
    }

    async fn replace_text(&self, path: &AbsPath, was: Option<&str>, text: &str) -> Result<(), SystemError> {
        self.files.replace_text(path, was, text).await
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        self.files.metadata(path).await
    }

    async fn read_dir(&self, path: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        self.files.read_dir(path).await
    }

    async fn create_dir_all(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.files.create_dir_all(path).await
    }

    async fn remove(&self, path: &AbsPath) -> Result<(), SystemError> {
        self.files.remove(path).await
    }

    async fn rename(&self, from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
        self.files.rename(from, to).await
    }

    async fn resolve(&self, path: &AbsPath) -> Result<AbsPath, SystemError> {
        self.files.resolve(path).await
    }

    async fn walk(&self, root: &AbsPath, options: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        self.files.walk(root, options).await
    }

    async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
        self.files.spawn(command).await
    }

    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        let program = command.program.clone();
        let before = self.starts(&program).len();
        let behaviour = lock(&self.behaviours).get(&program).cloned().expect("the test knows every program");
        lock(&self.started).push((command, Instant::now()));
        let (input, theirs) = tokio::io::duplex(PIPE);
        let (output, their_output) = tokio::io::duplex(PIPE);
        let (their_errors, errors) = mpsc::unbounded_channel();
        let streams = Streams {
            program,
            input: BufReader::new(theirs),
            output: their_output,
            errors: their_errors,
            received: Arc::clone(&self.received),
        };
        let task = tokio::spawn(behaviour(streams, before)).abort_handle();
        let process = Box::new(FakeProcess { errors, task });
        Ok(Piped { input: Box::new(input), output: Box::new(output), process })
    }

    fn routes(&self) -> Routes {
        Routes::LOCAL
    }

    async fn read_text_on_disk(&self, path: &AbsPath) -> Result<Option<String>, SystemError> {
        self.files.read_text_on_disk(path).await
    }
}
