//! A scripted editor for tests: a real client over a real pipe, stricter than any editor.
//!
//! It exchanges raw lines of JSON and shares no code with the server under test. When dropped, it
//! fails the test for every call that it did not advertise, every relative path, every unreleased
//! terminal, every update outside a turn, every line that is not JSON, and every scripted
//! permission or form that was not requested.

mod fake_peer;
mod script;

pub use script::{
    Answer, ClientName, CutRange, Decoding, EditorScript, Fault, StartTerminal, TerminalScript,
};

use crate::{AcpOptions, ServeError, serve};
use agent::Runtime;
use fake_peer::{FakePeer, Response};
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// An editor that follows a script.
pub struct Editor {
    peer: Arc<FakePeer>,
    outgoing: Option<mpsc::UnboundedSender<Vec<u8>>>,
    next_id: AtomicU64,
    reading: watch::Sender<bool>,
    hung_up: CancellationToken,
    served: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Editor {
    /// Connects an editor to an agent in this process, over pipes of 64 KiB.
    pub fn connect(runtime: Arc<Runtime>, options: AcpOptions, script: EditorScript) -> Self {
        let (writer, agent_reader) = tokio::io::duplex(64 * 1024);
        let (agent_writer, reader) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(serve(runtime, agent_reader, agent_writer, options));
        let mut editor = Self::over(reader, writer, script);
        editor.served = Some(served);
        editor
    }

    /// Connects an editor to an agent elsewhere, for example in a child process.
    pub fn over(
        reader: impl AsyncRead + Send + Unpin + 'static,
        mut writer: impl AsyncWrite + Send + Unpin + 'static,
        script: EditorScript,
    ) -> Self {
        let (outgoing, mut lines) = mpsc::unbounded_channel::<Vec<u8>>();
        // The desk's sender must not keep the pipe open after the editor closes it.
        let (answers, mut answered) = mpsc::unbounded_channel::<Vec<u8>>();
        tokio::spawn(async move {
            loop {
                let bytes = tokio::select! {
                    bytes = lines.recv() => bytes,
                    Some(bytes) = answered.recv() => Some(bytes),
                };
                let Some(bytes) = bytes else { break };
                if writer.write_all(&bytes).await.is_err() || writer.flush().await.is_err() {
                    break;
                }
            }
            // The agent may have closed its side already.
            let _ = writer.shutdown().await;
        });
        let peer = Arc::new(FakePeer::new(script, answers));
        let (reading, gate) = watch::channel(true);
        let hung_up = CancellationToken::new();
        tokio::spawn(hung_up.clone().run_until_cancelled_owned(read(reader, peer.clone(), gate)));
        Self { peer, outgoing: Some(outgoing), next_id: AtomicU64::new(1), reading, hung_up, served: None }
    }

    /// Connects an editor to an agent that `served` runs behind another transport.
    pub fn served(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        script: EditorScript,
        served: JoinHandle<Result<(), ServeError>>,
    ) -> Self {
        let mut editor = Self::over(reader, writer, script);
        editor.served = Some(served);
        editor
    }

    /// Sends `initialize` and returns the response.
    pub async fn initialize(&self) -> Value {
        self.ok("initialize", self.peer.script().initialize_params()).await
    }

    /// Sends `initialize` and creates a session in a directory; returns its id.
    pub async fn session(&self, cwd: &str) -> String {
        self.initialize().await;
        let session = self.ok("session/new", json!({ "cwd": cwd, "mcpServers": [] })).await;
        session["sessionId"].as_str().expect("session/new answers with an id").to_owned()
    }

    /// Sends a text prompt and waits for the end of its turn.
    pub async fn prompt(&self, session: &str, text: &str) -> Response {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.request("session/prompt", json!({ "sessionId": session, "prompt": prompt })).await
    }

    /// Sends a text prompt in version 2 and waits until its session is idle; returns the update
    /// that reports that.
    pub async fn turn(&self, session: &str, text: &str) -> Value {
        let before = self.states(session).len();
        if let Err(error) = self.prompt(session, text).await {
            panic!("session/prompt failed: {error}");
        }
        self.until_idle(session, before).await
    }

    /// Waits until a session is idle, ignoring the first `after` state updates; returns the update
    /// that reports that.
    pub async fn until_idle(&self, session: &str, after: usize) -> Value {
        let idle = |editor: &Self| {
            let states = editor.states(session);
            states.into_iter().skip(after).find(|state| state["state"] == "idle")
        };
        self.until(|editor| idle(editor).is_some()).await;
        idle(self).unwrap_or_default()
    }

    /// Returns the state updates of a session so far.
    pub fn states(&self, session: &str) -> Vec<Value> {
        let updates =
            self.calls("session/update").into_iter().filter(|params| params["sessionId"] == session);
        let updates = updates.map(|mut params| params["update"].take());
        updates.filter(|update| update["sessionUpdate"] == "state_update").collect()
    }

    /// Sends a request and returns its result.
    ///
    /// # Panics
    /// If the response is an error.
    pub async fn ok(&self, method: &str, params: Value) -> Value {
        match self.request(method, params).await {
            Ok(result) => result,
            Err(error) => panic!("{method} failed: {error}"),
        }
    }

    /// Sends a request and returns the code and the message of its error.
    ///
    /// # Panics
    /// If the request succeeds.
    pub async fn error(&self, method: &str, params: Value) -> (i64, String) {
        match self.request(method, params).await {
            Ok(result) => panic!("{method} succeeded: {result}"),
            Err(error) => {
                let message = error["message"].as_str().unwrap_or_default().to_owned();
                (error["code"].as_i64().unwrap_or_default(), message)
            }
        }
    }

    /// Sends a request and waits for its response.
    pub async fn request(&self, method: &str, params: Value) -> Response {
        self.start(method, params).1.await
    }

    /// Sends a request; returns its id and a future of its response.
    pub fn start(&self, method: &str, params: Value) -> (u64, impl Future<Output = Response> + use<>) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let speaks = matches!(method, "session/prompt" | "session/load" | "session/resume");
        let session = params.get("sessionId").and_then(Value::as_str).filter(|_| speaks).map(str::to_owned);
        let answer = self.peer.expect(&id.to_string(), session.as_deref());
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let method = method.to_owned();
        (id, async move {
            answer.await.unwrap_or_else(|_gone| panic!("the connection ended before {method} was answered"))
        })
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends raw bytes.
    pub fn raw(&self, bytes: impl Into<Vec<u8>>) {
        if let Some(outgoing) = &self.outgoing {
            // Sending fails if the pipe is closed.
            let _ = outgoing.send(bytes.into());
        }
    }

    /// Returns all messages from the agent so far, in order.
    pub fn log(&self) -> Vec<Value> {
        self.peer.log()
    }

    /// Returns the methods of the agent's messages so far; updates by their kind, responses as
    /// `answer`.
    pub fn methods(&self) -> Vec<String> {
        let name = |message: &Value| match message.get("method").and_then(Value::as_str) {
            Some("session/update") => message
                .pointer("/params/update/sessionUpdate")
                .and_then(Value::as_str)
                .unwrap_or("?")
                .to_owned(),
            Some(method) => method.to_owned(),
            None => "answer".to_owned(),
        };
        self.log().iter().map(name).collect()
    }

    /// Returns the parameters of the agent's requests and notifications with a method so far.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let of = |message: &Value| message.get("method").and_then(Value::as_str) == Some(method);
        self.log().into_iter().filter(of).map(|mut message| message["params"].take()).collect()
    }

    /// Returns the updates of a kind so far.
    pub fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.calls("session/update").into_iter().map(|mut params| params["update"].take());
        updates.filter(|update| update["sessionUpdate"] == kind).collect()
    }

    /// Returns the assistant's text so far.
    pub fn text(&self) -> String {
        let chunks = self.updates("agent_message_chunk");
        chunks.iter().filter_map(|chunk| chunk.pointer("/content/text").and_then(Value::as_str)).collect()
    }

    /// Returns the text of a buffer.
    pub fn text_of(&self, path: &str) -> Option<String> {
        self.peer.text_of(path)
    }

    /// Returns the violations so far, without leftovers.
    pub fn violations(&self) -> Vec<String> {
        self.peer.violations()
    }

    /// Returns the number of its terminals that were created and not released.
    pub fn open_terminals(&self) -> usize {
        self.peer.open_terminals()
    }

    /// Returns the shell lines of all commands started in its terminals, in order.
    pub fn ran(&self) -> Vec<String> {
        self.peer.ran()
    }

    /// Waits until `fits` returns true; it is evaluated after each message from the agent.
    pub async fn until(&self, fits: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.peer.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if fits(self) {
                return;
            }
            changed.await;
        }
    }

    /// Pauses or resumes reading from the agent.
    pub fn read(&self, reading: bool) {
        self.reading.send_replace(reading);
    }

    /// Drops the pipe it reads from, as a crashed client does.
    pub fn hang_up(&self) {
        self.hung_up.cancel();
    }

    /// Waits until the agent ends by itself, if it runs in this process.
    pub async fn ended(mut self) -> Result<(), ServeError> {
        match self.served.take() {
            Some(served) => served.await.expect("the connection does not panic"),
            None => Ok(()),
        }
    }

    /// Closes its side and waits until the agent ends, if it runs in this process.
    pub async fn close(mut self) -> Result<(), ServeError> {
        self.outgoing = None;
        self.ended().await
    }

    fn send(&self, message: Value) {
        self.raw(format!("{message}\n"));
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let all_violations = self.peer.all_violations();
            assert!(all_violations.is_empty(), "the editor objects: {all_violations:#?}");
        }
    }
}

async fn read(reader: impl AsyncRead + Unpin, peer: Arc<FakePeer>, mut gate: watch::Receiver<bool>) {
    let mut lines = BufReader::new(reader).lines();
    loop {
        if gate.wait_for(|reading| *reading).await.is_err() {
            return;
        }
        let Ok(Some(line)) = lines.next_line().await else { return };
        if let Some(asked) = peer.receive(&line) {
            let peer = peer.clone();
            tokio::spawn(async move {
                for answer in peer.answer(&asked).await {
                    let id = &asked.id;
                    peer.send(&match answer {
                        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
                        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
                    });
                }
            });
        }
    }
}
