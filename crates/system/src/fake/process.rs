//! Scripted commands of the fake.

use super::{absolute, lock};
use crate::output::Ring;
use crate::{AbsPath, Command, ExitStatus, Output, Process, SystemError, TerminalId};
use async_trait::async_trait;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// The behaviour of a command: prints output, may write files, and exits or runs until it is
/// killed.
#[derive(Debug, Clone, Default)]
pub struct Script {
    output: VecDeque<String>,
    writes: Vec<(AbsPath, Vec<u8>)>,
    end: Option<ExitStatus>,
    terminal: Option<TerminalId>,
}

impl Script {
    /// Exits immediately with an exit code.
    pub fn exits(code: i64) -> Self {
        Self { end: Some(ExitStatus { code: Some(code), signal: None }), ..Self::default() }
    }

    /// Is killed by a signal, such as `SIGKILL`.
    pub fn dies(signal: &str) -> Self {
        Self { end: Some(ExitStatus { code: None, signal: Some(signal.to_owned()) }), ..Self::default() }
    }

    /// Runs until it is killed.
    pub fn hangs() -> Self {
        Self::default()
    }

    /// Prints a piece of output. A reader that keeps up receives it as one piece.
    pub fn prints(mut self, text: &str) -> Self {
        self.output.push_back(text.to_owned());
        self
    }

    /// Writes a file when the command starts.
    pub fn writes(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.writes.push((absolute(path), content.as_ref().to_vec()));
        self
    }

    /// Is shown in a terminal of the client.
    pub fn in_terminal(mut self, id: &str) -> Self {
        self.terminal = Some(TerminalId(id.to_owned()));
        self
    }

    pub(super) fn changes(&self) -> &[(AbsPath, Vec<u8>)] {
        &self.writes
    }
}

/// Creates the script for a command that matched.
type MakeScript = Box<dyn Fn(&Command) -> Script + Send + Sync>;

/// The scripts in the order in which they were added.
#[derive(Default)]
pub(super) struct Scripts(Vec<(String, MakeScript)>);

impl Scripts {
    pub(super) fn add(&mut self, line: &str, script: MakeScript) {
        self.0.push((line.to_owned(), script));
    }

    pub(super) fn find(&self, command: &Command, line: &str) -> Option<Script> {
        let fits = |pattern: &str| {
            line.strip_prefix(pattern).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        self.0.iter().rev().find(|(pattern, _)| fits(pattern)).map(|(_, script)| script(command))
    }
}

/// Returns the line by which a test refers to a command.
pub(super) fn line(command: &Command) -> String {
    match command.args.as_slice() {
        [flag, line] if command.program == "sh" && flag == "-c" => line.clone(),
        args => {
            std::iter::once(&command.program).chain(args).map(String::as_str).collect::<Vec<_>>().join(" ")
        }
    }
}

/// The processes that are still running.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<(u64, BTreeMap<u64, String>)>);

impl Running {
    pub(super) fn lines(&self) -> Vec<String> {
        lock(&self.0).1.values().cloned().collect()
    }

    fn enter(&self, line: String) -> u64 {
        let mut running = lock(&self.0);
        running.0 += 1;
        let id = running.0;
        running.1.insert(id, line);
        id
    }

    fn leave(&self, id: u64) {
        lock(&self.0).1.remove(&id);
    }
}

/// A scripted process.
pub(super) struct FakeProcess {
    id: u64,
    running: Arc<Running>,
    ring: Ring,
    /// Output that has not been printed yet.
    output: VecDeque<String>,
    end: Option<ExitStatus>,
    terminal: Option<TerminalId>,
}

impl FakeProcess {
    pub(super) fn start(script: Script, line: String, output_limit: usize, running: Arc<Running>) -> Self {
        Self {
            id: running.enter(line),
            running,
            ring: Ring::new(output_limit),
            output: script.output,
            end: script.end,
            terminal: script.terminal,
        }
    }

    /// Moves all remaining output into the ring buffer, as for a process whose output is not read.
    fn print_all(&mut self) {
        for piece in self.output.drain(..) {
            self.ring.push(&piece);
        }
    }
}

#[async_trait]
impl Process for FakeProcess {
    fn terminal(&self) -> Option<&TerminalId> {
        self.terminal.as_ref()
    }

    async fn next_output(&mut self) -> Option<Output> {
        loop {
            if let Some(output) = self.ring.take() {
                return Some(output);
            }
            match self.output.pop_front() {
                Some(piece) => self.ring.push(&piece),
                None if self.end.is_some() => return None,
                None => return std::future::pending().await,
            }
        }
    }

    async fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        self.print_all();
        match &self.end {
            Some(end) => {
                self.running.leave(self.id);
                Ok(end.clone())
            }
            None => std::future::pending().await,
        }
    }

    async fn kill(&mut self) {
        self.print_all();
        self.end.get_or_insert(ExitStatus { code: None, signal: Some("SIGTERM".to_owned()) });
        self.running.leave(self.id);
    }
}

impl Drop for FakeProcess {
    fn drop(&mut self) {
        self.running.leave(self.id);
    }
}
