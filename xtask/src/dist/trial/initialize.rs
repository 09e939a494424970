//! A conversation of one message with an agent.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long the agent may take: package runners prepare their environments first.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts an agent, sends `initialize`, and returns the result. The agent must end when its input
/// does.
pub(super) fn initialize(mut program: Command) -> Result<Value> {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{program:?} did not start"))?;
    let params = json!({
        "protocolVersion": 1,
        "clientInfo": { "name": "packages", "version": "1" },
        "clientCapabilities": {
            "fs": { "readTextFile": true, "writeTextFile": true },
            "terminal": true,
            "auth": { "terminal": true },
        },
    });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let mut stdin = child.stdin.take().expect("it was asked for as a pipe");
    // An agent that ended already is reported below, with what it wrote.
    let _ = writeln!(stdin, "{request}");
    let stdout = child.stdout.take().expect("it was asked for as a pipe");
    let (send, lines) = mpsc::channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line);
        send.send(read.map(|_| line)).ok();
    });
    let line = lines.recv_timeout(PATIENCE);
    drop(stdin);
    let ended = crate::process::wait_for_end(&mut child, PATIENCE)?;
    let mut stderr = String::new();
    child.stderr.take().expect("it was asked for as a pipe").read_to_string(&mut stderr).ok();
    let Ok(Ok(line)) = line else { bail!("it wrote no line within {} s: {stderr}", PATIENCE.as_secs()) };
    let answer: Value =
        serde_json::from_str(&line).with_context(|| format!("{line:?} is no answer: {stderr}"))?;
    ensure!(answer["id"] == 1 && answer["result"].is_object(), "it answered {answer}: {stderr}");
    ensure!(ended.is_some_and(|status| status.success()), "it ended with {ended:?}: {stderr}");
    Ok(answer["result"].clone())
}
