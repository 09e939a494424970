//! One process of the program: it is started, used, and killed or ended normally.

use super::aim::Aim;
use super::editor::{Editor, Victim, kill};
use super::home::Home;
use super::kind::Kind;
use crate::peers::client::{Client, Reply};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a response may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the program may take to exit after its input is closed.
const ENDING: Duration = Duration::from_secs(10);

/// A running program and its editor.
pub(super) struct Life {
    client: Client<Editor>,
    victim: Victim,
    kind: Kind,
}

impl Life {
    /// Starts it, with a moment of the kill if it is to be killed.
    pub(super) fn start(
        home: &Arc<Home>,
        binary: &Path,
        base_url: &str,
        kind: Kind,
        aim: Option<Aim>,
    ) -> Result<Self> {
        let mut command = home.program(binary, base_url, kind)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("{} did not start", binary.display()))?;
        let stdout = child.stdout.take().context("stdout is not a pipe")?;
        let stdin = child.stdin.take().context("stdin is not a pipe")?;
        let victim = Arc::new(Mutex::new(child));
        if let Some(Aim::Start(time)) = aim {
            let victim = Arc::clone(&victim);
            std::thread::spawn(move || {
                std::thread::sleep((started + time).saturating_duration_since(Instant::now()));
                kill(&victim);
            });
        }
        let editor = Editor::new(Arc::clone(&victim), aim, Arc::clone(home));
        Ok(Self { client: Client::new(stdout, stdin, editor), victim, kind })
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Result<Reply> {
        let pending = self.client.send(method, params)?;
        self.client.wait_for(pending, PATIENCE).with_context(|| method.to_owned())
    }

    pub(super) fn initialize(&mut self) -> Result<()> {
        let mut hello = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        if self.kind == Kind::Delegated {
            hello["clientCapabilities"] =
                json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true });
        }
        self.ask("initialize", &hello).map(drop)
    }

    /// Marks the session as open.
    pub(super) fn opened(&self) {
        self.client.host().opened();
    }

    /// Kills it if it is still running; returns the last reported state of each call.
    pub(super) fn killed(mut self) -> BTreeMap<String, String> {
        kill(&self.victim);
        self.end()
    }

    /// Closes its input and waits for its exit.
    pub(super) fn hang_up(mut self) -> Result<()> {
        self.client.hang_up();
        let until = Instant::now() + ENDING;
        let ended = loop {
            let ended = self.victim.lock().expect("nobody panics with the lock held").try_wait()?;
            if ended.is_some() || Instant::now() > until {
                break ended;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        kill(&self.victim);
        self.end();
        match ended {
            Some(status) if status.success() => Ok(()),
            Some(status) => bail!("it ended with {status} when its input did"),
            None => bail!("it did not end within {ENDING:?} after its input"),
        }
    }

    /// Reads its remaining output and kills the processes in the editor's terminals.
    fn end(&mut self) -> BTreeMap<String, String> {
        self.victim.lock().expect("nobody panics with the lock held").wait().ok();
        self.client.drain(PATIENCE);
        let host = self.client.host();
        host.terminals.kill_all();
        host.calls.clone()
    }
}
