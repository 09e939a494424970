//! This program as a server: a gateway over lines of JSON.

use crate::{
    limits::{CLOSE, MESSAGE_BYTES, SEND, SERVED_AT_ONCE, SERVED_WAITING},
    line_reader::{Line, LineReader},
};
use agent::Redactor;
use async_trait::async_trait;
use futures::FutureExt as _;
use serde_json::{Map, Value, json};
use std::{collections::HashMap, io, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{Semaphore, mpsc},
    task::{AbortHandle, JoinSet},
};

/// The name of this program, as a server and as a client.
pub const OUR_NAME: &str = "tiller";

/// The supported protocol versions, newest first. All of them offer the same methods.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The content that is served.
#[async_trait]
pub trait Gateway: Send + Sync {
    /// Returns the tools in the format of `tools/list`.
    async fn tools(&self) -> Vec<Value>;

    /// Calls a tool and returns its result in the format of `tools/call`. Dropping the future
    /// cancels the call.
    async fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, CallError>;

    /// Returns the resources in the format of `resources/list`.
    async fn resources(&self) -> Vec<Value>;

    /// Returns the resource templates in the format of `resources/templates/list`.
    async fn templates(&self) -> Vec<Value>;

    /// Reads a resource and returns the result of `resources/read`.
    async fn read(&self, uri: &str) -> Result<Value, CallError>;

    /// Returns the prompts in the format of `prompts/list`.
    async fn prompts(&self) -> Vec<Value>;

    /// Fills in a prompt and returns the result of `prompts/get`.
    async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, CallError>;
}

/// The reason why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is no tool, resource or prompt of this name.
    #[error("Unknown: {0}")]
    Unknown(String),
    /// The call failed; the caller's model reads the reason.
    #[error("{0}")]
    Failed(String),
}

/// The client's streams failed before an orderly end.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Reading failed.
    #[error("the client cannot be read: {0}")]
    Read(#[source] io::Error),
    /// Writing failed, or timed out.
    #[error("the client cannot be written to: {0}")]
    Write(#[source] io::Error),
}

/// Serves a client until its input ends. Calls still running then have 3 s to complete.
pub async fn serve(
    input: Box<dyn AsyncRead + Send + Unpin>,
    output: Box<dyn AsyncWrite + Send + Unpin>,
    gateway: Arc<dyn Gateway>,
    redactor: Redactor,
    version: &str,
) -> Result<(), ServeError> {
    let (answers, waiting) = mpsc::channel(SERVED_WAITING);
    let mut session = GatewaySession {
        gateway,
        answers,
        running: HashMap::new(),
        tasks: JoinSet::new(),
        permits: Arc::new(Semaphore::new(SERVED_AT_ONCE)),
        version: version.to_owned(),
    };
    let mut reader = LineReader::new(input, MESSAGE_BYTES);
    let mut writing = std::pin::pin!(write(output, waiting, redactor));
    loop {
        tokio::select! {
            written = &mut writing => return written.map_err(ServeError::Write),
            Some(ended) = session.tasks.join_next() => {
                if let Ok(id) = ended {
                    session.running.remove(&id);
                }
            }
            line = reader.next() => match line.map_err(ServeError::Read)? {
                Line::Whole(line) => session.handle_line(&line),
                Line::TooLong => session.fail(&Value::Null, INVALID, "the message is too long"),
                Line::End => break,
            },
        }
    }
    // A script that pipes in a few requests and closes its end expects the responses.
    let GatewaySession { mut tasks, answers, .. } = session;
    drop(answers);
    let ending = async {
        let all = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(CLOSE, all).await.is_err() {
            tasks.shutdown().await;
        }
    };
    let (written, ()) = futures::join!(writing, ending);
    written.map_err(ServeError::Write)
}

const PARSE: i32 = -32700;
const INVALID: i32 = -32600;
const NO_METHOD: i32 = -32601;
const BAD_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
const NO_RESOURCE: i32 = -32002;

struct GatewaySession {
    gateway: Arc<dyn Gateway>,
    answers: mpsc::Sender<Value>,
    /// Running requests, by the JSON text of their id.
    running: HashMap<String, AbortHandle>,
    tasks: JoinSet<String>,
    permits: Arc<Semaphore>,
    version: String,
}

impl GatewaySession {
    fn handle_line(&mut self, line: &[u8]) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return self.fail(&Value::Null, PARSE, "the line is not valid JSON");
        };
        let Value::Object(message) = message else {
            return self.fail(
                &Value::Null,
                INVALID,
                "a message must be one object; batches are not supported",
            );
        };
        let id = match message.get("id") {
            None => None,
            Some(id @ (Value::String(_) | Value::Number(_))) => Some(id.clone()),
            Some(_) => return self.fail(&Value::Null, INVALID, "an id must be a string or a number"),
        };
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => self.request(method, id, params),
            (Some("notifications/cancelled"), None) => {
                // A request that is unknown or has ended needs no cancellation.
                if let Some(running) = self.running.remove(&params["requestId"].to_string()) {
                    running.abort();
                }
            }
            (Some(_), None) => {}
            // Responses to requests that we never sent.
            (None, _) if message.contains_key("result") || message.contains_key("error") => {}
            (None, id) => self.fail(&id.unwrap_or_default(), INVALID, "the message has no method"),
        }
    }

    fn request(&mut self, method: &str, id: Value, params: Value) {
        match method {
            "initialize" => {
                let requested = params["protocolVersion"].as_str();
                let known = VERSIONS.iter().find(|version| Some(**version) == requested);
                let result = json!({
                    "protocolVersion": known.unwrap_or(&VERSIONS[0]),
                    "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
                    "serverInfo": { "name": OUR_NAME, "version": self.version },
                });
                self.answer(result_of(&id, result));
            }
            "ping" => self.answer(result_of(&id, json!({}))),
            "tools/list" => {
                let gateway = Arc::clone(&self.gateway);
                self.start(id, async move { Ok(json!({ "tools": gateway.tools().await })) });
            }
            "resources/list" => {
                let gateway = Arc::clone(&self.gateway);
                self.start(id, async move { Ok(json!({ "resources": gateway.resources().await })) });
            }
            "resources/templates/list" => {
                let gateway = Arc::clone(&self.gateway);
                self.start(id, async move { Ok(json!({ "resourceTemplates": gateway.templates().await })) });
            }
            "resources/read" => {
                let Some(uri) = params["uri"].as_str().map(str::to_owned) else {
                    return self.fail(&id, BAD_PARAMS, "the URI of the resource is missing");
                };
                let gateway = Arc::clone(&self.gateway);
                self.start(id, async move {
                    gateway.read(&uri).await.map_err(|error| error.to_wire(NO_RESOURCE, "resource"))
                });
            }
            "prompts/list" => {
                let gateway = Arc::clone(&self.gateway);
                self.start(id, async move { Ok(json!({ "prompts": gateway.prompts().await })) });
            }
            "prompts/get" => {
                let (name, arguments) = match named(&params) {
                    Ok(named) => named,
                    Err(why) => return self.fail(&id, BAD_PARAMS, why),
                };
                let gateway = Arc::clone(&self.gateway);
                self.start(id, async move {
                    let filled = gateway.prompt(&name, arguments).await;
                    filled.map_err(|error| error.to_wire(BAD_PARAMS, "prompt"))
                });
            }
            "tools/call" => {
                let (name, arguments) = match named(&params) {
                    Ok(named) => named,
                    Err(why) => return self.fail(&id, BAD_PARAMS, why),
                };
                let gateway = Arc::clone(&self.gateway);
                self.start(id, async move {
                    match gateway.call(&name, arguments).await {
                        Ok(result) => Ok(result),
                        Err(CallError::Failed(why)) => {
                            Ok(json!({ "content": [{ "type": "text", "text": why }], "isError": true }))
                        }
                        Err(error) => Err(error.to_wire(BAD_PARAMS, "tool")),
                    }
                });
            }
            other => {
                let text = format!("{} is not served", agent::one_line(other));
                self.fail(&id, NO_METHOD, &text);
            }
        }
    }

    /// Runs a request as a task of its own.
    fn start(
        &mut self,
        id: Value,
        work: impl Future<Output = Result<Value, (i32, String)>> + Send + 'static,
    ) {
        let key = id.to_string();
        if self.running.contains_key(&key) {
            return self.fail(&id, INVALID, "a request with this id is running");
        }
        if self.running.len() >= SERVED_WAITING {
            return self.fail(&id, INTERNAL, "too many requests are waiting; try again later");
        }
        let (answers, permits) = (self.answers.clone(), Arc::clone(&self.permits));
        let task = async move {
            let key = id.to_string();
            let _permit = permits.acquire().await;
            let answer = match AssertUnwindSafe(work).catch_unwind().await {
                Ok(Ok(result)) => result_of(&id, result),
                Ok(Err((code, why))) => error_of(&id, code, &why),
                Err(_) => error_of(&id, INTERNAL, "an internal error; details are on standard error"),
            };
            // The client may be gone.
            let _ = answers.send(answer).await;
            key
        };
        let running = self.tasks.spawn(task);
        self.running.insert(key, running);
    }

    fn fail(&mut self, id: &Value, code: i32, why: &str) {
        self.answer(error_of(id, code, why));
    }

    /// Queues a response without waiting. If the client does not read and the queue is full, the
    /// response is dropped.
    fn answer(&mut self, answer: Value) {
        if self.answers.try_send(answer).is_err() {
            tracing::warn!("an answer is dropped: the client does not read");
        }
    }
}

impl CallError {
    /// Returns the error's code and text; `unknown` is the code for an unknown name of the kind
    /// `what`.
    fn to_wire(&self, unknown: i32, what: &str) -> (i32, String) {
        match self {
            Self::Unknown(name) => (unknown, format!("Unknown {what}: {name}")),
            Self::Failed(why) => (INTERNAL, why.clone()),
        }
    }
}

/// Returns the name and the arguments in `params`.
fn named(params: &Value) -> Result<(String, Map<String, Value>), &'static str> {
    let name = params["name"].as_str().ok_or("the name is missing")?;
    match params.get("arguments") {
        None | Some(Value::Null) => Ok((name.to_owned(), Map::new())),
        Some(Value::Object(arguments)) => Ok((name.to_owned(), arguments.clone())),
        Some(_) => Err("the arguments must be an object"),
    }
}

fn result_of(id: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn error_of(id: &Value, code: i32, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

/// Writes responses, without secrets, until the channel closes.
async fn write(
    mut output: Box<dyn AsyncWrite + Send + Unpin>,
    mut answers: mpsc::Receiver<Value>,
    redactor: Redactor,
) -> io::Result<()> {
    while let Some(answer) = answers.recv().await {
        let line = redactor.json_line(answer) + "\n";
        let written = async {
            output.write_all(line.as_bytes()).await?;
            output.flush().await
        };
        let silent = || io::Error::new(io::ErrorKind::TimedOut, "the client does not read");
        tokio::time::timeout(SEND.max(Duration::from_secs(1)), written).await.map_err(|_| silent())??;
    }
    Ok(())
}
