//! The peer on the pipe: `tiller acp` as a child process, over raw JSON-RPC lines.
//!
//! It deliberately uses no protocol library: the demo shows what any editor would receive.

use crate::limits;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::process::Stdio;
use system::AbsPath;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

/// The child process and its pipes. Dropping it kills the child.
pub(super) struct Peer {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last_id: u64,
}

/// The options of the child process.
pub(super) struct Start {
    pub(super) cwd: AbsPath,
    pub(super) args: Vec<String>,
    /// A directory for all of its files, so that none of the user's are read or written.
    pub(super) home: Option<AbsPath>,
}

/// A message from the agent.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    Response { id: u64, result: Result<Value, String> },
    Request { id: Value, method: String, params: Value },
    Notification { method: String, params: Value },
}

/// A JSON-RPC error for a request of the agent: code and message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) i64, pub(super) String);

impl Peer {
    /// Starts the child process.
    #[expect(
        clippy::disallowed_methods,
        reason = "an editor starts its agent over pipes, which no system of a session does"
    )]
    pub(super) fn start(start: Start) -> Result<Self> {
        let program = std::env::current_exe().context("cannot tell which program this is")?;
        let mut command = tokio::process::Command::new(&program);
        command.arg("acp").args(&start.args).current_dir(start.cwd.as_std());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        if let Some(home) = &start.home {
            command.env("TILLER_HOME", home.as_str());
            for variable in ["TILLER_MODEL", "TILLER_MODE", "TILLER_PERMISSION_MODE"] {
                command.env_remove(variable);
            }
        }
        let mut child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let stdin = child.stdin.take().expect("stdin was asked for as a pipe");
        let stdout = child.stdout.take().expect("stdout was asked for as a pipe");
        Ok(Self { child, stdin, lines: BufReader::new(stdout).lines(), last_id: 0 })
    }

    /// Sends a request and returns its id.
    pub(super) async fn request(&mut self, method: &str, params: Value) -> Result<u64> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        Ok(id)
    }

    /// Responds to a request of the agent.
    pub(super) async fn respond(&mut self, id: &Value, answer: Result<Value, Refusal>) -> Result<()> {
        let message = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(Refusal(code, message)) => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        };
        self.send(&message).await
    }

    /// Returns the next message. Cancel-safe.
    ///
    /// # Errors
    /// If the agent has exited, is silent for too long, or sends an invalid message.
    pub(super) async fn next(&mut self) -> Result<Incoming> {
        let line = match timeout(limits::DEMO_IDLE_TIMEOUT, self.lines.next_line()).await {
            Err(_) => bail!("the agent was silent for {} s", limits::DEMO_IDLE_TIMEOUT.as_secs()),
            Ok(line) => line.context("cannot read from the agent")?,
        };
        let Some(line) = line else { bail!("the agent has exited (its output ended)") };
        parse(&line)
    }

    /// Closes the connection, as a closing editor does, and waits for the child to exit.
    pub(super) async fn hang_up(self) -> Result<()> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        match timeout(limits::DEMO_EXIT, child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => bail!("the agent ended with {status}"),
            Ok(Err(error)) => Err(error).context("cannot wait for the agent"),
            Err(_) => bail!("the agent did not end within {} s of its input", limits::DEMO_EXIT.as_secs()),
        }
    }

    async fn send(&mut self, message: &Value) -> Result<()> {
        let written = self.stdin.write_all(format!("{message}\n").as_bytes()).await;
        written.context("cannot write to the agent: it has exited")
    }
}

fn parse(line: &str) -> Result<Incoming> {
    let mut message: Value = serde_json::from_str(line)
        .with_context(|| format!("the agent sent a line that is not JSON: {line}"))?;
    let method = message["method"].as_str().map(str::to_owned);
    let id = message.get("id").cloned();
    let mut take = |field: &str| message.get_mut(field).map(Value::take);
    Ok(match (method, id) {
        (Some(method), Some(id)) => {
            Incoming::Request { id, method, params: take("params").unwrap_or_default() }
        }
        (Some(method), None) => Incoming::Notification { method, params: take("params").unwrap_or_default() },
        (None, Some(id)) => {
            let id = id
                .as_u64()
                .with_context(|| format!("the agent answered a request that was not sent: {line}"))?;
            let result = match take("error") {
                Some(error) => Err(error["message"].as_str().unwrap_or("no message").to_owned()),
                None => Ok(take("result").unwrap_or_default()),
            };
            Incoming::Response { id, result }
        }
        (None, None) => bail!("the agent sent neither a request nor a response: {line}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_the_kinds_of_messages() {
        let request = Incoming::Request { id: json!("a"), method: "m".into(), params: json!({ "x": 1 }) };
        assert_eq!(parse(r#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}}"#).unwrap(), request);
        let notification = Incoming::Notification { method: "m".into(), params: Value::Null };
        assert_eq!(parse(r#"{"jsonrpc":"2.0","method":"m"}"#).unwrap(), notification);
        let answer = Incoming::Response { id: 3, result: Ok(Value::Null) };
        assert_eq!(parse(r#"{"jsonrpc":"2.0","id":3,"result":null}"#).unwrap(), answer);
        let error = Incoming::Response { id: 3, result: Err("no".into()) };
        assert_eq!(parse(r#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#).unwrap(), error);
        for bad in ["", "hello", "{}", r#"{"id":"mine","result":1}"#] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
