//! One process of the program: it is started, used, and killed or ended normally.

use super::editor::{Editor, Seen, SharedChild, kill};
use super::home::Home;
use super::kill_moment::KillMoment;
use super::kind::Kind;
use crate::peers::client::{Client, Reply};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a response may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the program may take to exit after its input is closed.
const ENDING: Duration = Duration::from_secs(10);

/// A running program and its editor.
pub(super) struct RunningProgram {
    client: Client<Editor>,
    child: SharedChild,
    kind: Kind,
}

impl RunningProgram {
    /// Starts it, with a moment of the kill if it is to be killed.
    pub(super) fn start(
        home: &Arc<Home>,
        binary: &Path,
        base_url: &str,
        kind: Kind,
        kill_moment: Option<KillMoment>,
    ) -> Result<Self> {
        let mut command = home.program(binary, base_url, kind)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("{} did not start", binary.display()))?;
        let stdout = child.stdout.take().context("stdout is not a pipe")?;
        let stdin = child.stdin.take().context("stdin is not a pipe")?;
        let child = Arc::new(Mutex::new(child));
        if let Some(KillMoment::Start(time)) = kill_moment {
            let child = Arc::clone(&child);
            std::thread::spawn(move || {
                std::thread::sleep((started + time).saturating_duration_since(Instant::now()));
                kill(&child);
            });
        }
        let editor = Editor::new(Arc::clone(&child), kill_moment, Arc::clone(home));
        Ok(Self { client: Client::new(stdout, stdin, editor), child, kind })
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
        if self.kind == Kind::Swarm {
            hello["clientCapabilities"] = json!({ "_meta": { "tiller": { "events": true } } });
        }
        self.ask("initialize", &hello).map(drop)
    }

    /// Marks the session as open.
    pub(super) fn opened(&self) {
        self.client.host().opened();
    }

    /// Returns the process, for those that kill it.
    pub(super) fn child(&self) -> SharedChild {
        Arc::clone(&self.child)
    }

    /// Kills it if it is still running; returns what it reported.
    pub(super) fn kill_and_drain(mut self) -> Seen {
        kill(&self.child);
        self.end()
    }

    /// Closes its input and waits for its exit; returns what it reported.
    pub(super) fn end_normally(mut self) -> Result<Seen> {
        self.client.hang_up();
        let until = Instant::now() + ENDING;
        let ended = loop {
            let ended = self.child.lock().expect("no thread panics with the lock held").try_wait()?;
            if ended.is_some() || Instant::now() > until {
                break ended;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        kill(&self.child);
        let seen = self.end();
        match ended {
            Some(status) if status.success() => Ok(seen),
            Some(status) => bail!("it ended with {status} when its input did"),
            None => bail!("it did not end within {ENDING:?} after its input"),
        }
    }

    /// Reads its remaining output and kills the processes in the editor's terminals.
    fn end(&mut self) -> Seen {
        self.child.lock().expect("no thread panics with the lock held").wait().ok();
        self.client.drain(PATIENCE);
        let mut host = self.client.host();
        host.terminals.kill_all();
        std::mem::take(&mut host.seen)
    }
}
