//! `bash`: a command, run where the session's commands run.

use super::{args, cancel::unless_cancelled, output};
use crate::{
    Access, Content, Description, Effect, Tool, ToolCallUpdate, ToolContent, ToolContext, ToolError,
    ToolKind, ToolOutput,
    limits::{COMMAND_TITLE_CHARS, LIVE_BYTES, LIVE_EVERY},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::time::Duration;
use system::{AbsPath, Command, Confinement, ExitStatus, Output, Process, Route};
use tokio::time::{Instant, sleep_until, timeout};

/// Runs a shell line.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Bash {
    #[serde(default)]
    command: String,
    /// Seconds.
    #[serde(default, deserialize_with = "args::count")]
    timeout: Option<u64>,
    #[serde(default)]
    outside_sandbox: bool,
}

/// How the wait for a process ended.
enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

#[async_trait]
impl Tool for Bash {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Runs a command with `sh -c` in the project folder and returns its output (stdout and stderr in one stream) and exit code. \
        Standard input is closed. Each call is a new shell. Long output keeps its end.";
    const EFFECT: Effect = Effect::Executes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command"},
                "timeout": {"type": "integer", "minimum": 1, "maximum": 7200, "description": "Seconds it may run (default 120)"},
                "outside_sandbox": {"type": "boolean", "description": "Run outside of the sandbox, with the network and the user's files; the user is asked. Only after the sandbox stood in the way"}
            },
            "required": ["command"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let line = self.command.split_whitespace().collect::<Vec<_>>().join(" ");
        Description {
            title: format!("Run {}", output::cut(&line, COMMAND_TITLE_CHARS)),
            kind: ToolKind::Execute,
            locations: Vec::new(),
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        match self.is_empty() {
            true => args::touches_nothing(Self::NAME),
            false => vec![Access::Execute {
                command: self.command.clone(),
                cwd: cwd.clone(),
                unconfined: self.outside_sandbox,
            }],
        }
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        if self.is_empty() {
            return Err(ToolError::message("No command provided"));
        }
        let place = match cx.system.routes().spawn {
            Route::Client => "in the editor's terminal",
            Route::Local | Route::Refused => "on this machine",
        };
        let text = format!("{}\n\nRuns {place}, in {}", fenced(&self.command), cx.cwd);
        Ok(vec![ToolContent::Content(Content::text(text))])
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.is_empty() {
            return Err(ToolError::message("No command provided"));
        }
        let limit = self.limit(cx);
        let mut command = Command::shell(&self.command, cx.cwd.clone(), cx.limits.command_output_bytes);
        if self.outside_sandbox {
            command.confinement = Confinement::Lifted;
        }
        let mut process = unless_cancelled(cx, cx.system.spawn(command)).await??;
        let terminal = process.terminal().cloned().map(ToolContent::Terminal);
        let mut live = Live::new(cx, terminal.is_some());
        if let Some(terminal) = &terminal {
            // The user watches from here on; waiting comes after.
            (cx.progress)(ToolCallUpdate::of(cx.call.clone(), Self::NAME).content(vec![terminal.clone()]));
        }
        let mut tail = Tail::new(cx.limits.command_output_bytes);
        let end = follow(cx, process.as_mut(), &mut tail, &mut live, Instant::now() + limit).await;
        if !matches!(end, End::Exited(_)) {
            stop(cx, process.as_mut(), &mut tail).await;
        }
        let said = output::cap_tail(tail.text(), &cx.limits);
        let said = said.trim_end_matches('\n');
        let (text, success) = match end {
            End::Exited(status) => {
                let hint =
                    if cx.confined && !self.outside_sandbox { sandbox_hint(said, &status) } else { "" };
                (format!("{}\n{}{hint}", or_nothing(said), ending(&status)), status.success())
            }
            End::TimedOut if said.is_empty() => (timed_out(limit), false),
            End::TimedOut => (format!("{said}\n{}", timed_out(limit)), false),
            End::Cancelled => {
                return Err(ToolError::Cancelled(Some(said.to_owned()).filter(|said| !said.is_empty())));
            }
        };
        let output = match terminal {
            Some(terminal) => ToolOutput::shown(text, vec![terminal]),
            None => ToolOutput::text(text),
        };
        Ok(if success { output } else { output.failed() })
    }
}

impl Bash {
    fn is_empty(&self) -> bool {
        self.command.trim().is_empty()
    }

    fn limit(&self, cx: &ToolContext) -> Duration {
        let asked = self.timeout.map_or(cx.limits.command_timeout, Duration::from_secs);
        asked.max(Duration::from_secs(1)).min(cx.limits.command_timeout_max)
    }
}

/// Takes output until the process ends, its time is up or the turn is cancelled.
async fn follow(
    cx: &ToolContext,
    process: &mut dyn Process,
    tail: &mut Tail,
    live: &mut Live<'_>,
    deadline: Instant,
) -> End {
    loop {
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return End::Cancelled,
            () = sleep_until(deadline) => return End::TimedOut,
            () = sleep_until(live.next), if live.waits => live.show(tail),
            piece = process.next_output() => match piece {
                Some(piece) => {
                    tail.push(piece);
                    live.changed(tail);
                }
                None => break,
            },
        }
    }
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => End::Cancelled,
        () = sleep_until(deadline) => End::TimedOut,
        // An end that nobody can tell is unknown, which is a failure too.
        status = process.wait() => End::Exited(status.unwrap_or_default()),
    }
}

/// Kills a process and takes what it still had to say, for a bounded time.
async fn stop(cx: &ToolContext, process: &mut dyn Process, tail: &mut Tail) {
    // The kill has a bound of its own; this one is for a backend that breaks it.
    let _ = timeout(cx.limits.kill_grace * 2, process.kill()).await;
    let last = async {
        while let Some(piece) = process.next_output().await {
            tail.push(piece);
        }
    };
    let _ = timeout(cx.limits.kill_grace, last).await;
}

fn ending(status: &ExitStatus) -> String {
    match (&status.signal, status.code) {
        (Some(signal), _) => format!("Killed by signal: {signal}"),
        (None, Some(code)) => format!("Exit code: {code}"),
        (None, None) => "Exit status unknown".to_owned(),
    }
}

/// What the model is told when a failure looks like the sandbox's doing.
fn sandbox_hint(said: &str, status: &ExitStatus) -> &'static str {
    const SIGNS: [&str; 7] = [
        "Permission denied",
        "Operation not permitted",
        "Read-only file system",
        "Could not resolve",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "EPERM",
    ];
    match !status.success() && SIGNS.iter().any(|sign| said.contains(sign)) {
        true => {
            "\n(This ran in a sandbox: no network, writes only below the project and the temporary folder. If that is why it failed, call bash again \
             with outside_sandbox set; the user is asked.)"
        }
        false => "",
    }
}

fn timed_out(limit: Duration) -> String {
    format!("Process timed out after {}s", limit.as_secs())
}

fn or_nothing(said: &str) -> &str {
    if said.is_empty() { "(no output)" } else { said }
}

/// A command as a code block, whatever backticks it holds.
fn fenced(command: &str) -> String {
    let longest = command.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{command}\n{fence}")
}

/// The end of a command's output, at most twice the limit in memory.
struct Tail {
    text: String,
    limit: usize,
    lost: bool,
}

impl Tail {
    fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, lost: false }
    }

    fn push(&mut self, piece: Output) {
        match piece {
            Output::Text(text) => self.text.push_str(&text),
            Output::Gap => {
                if !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.text.push('\n');
                }
                self.text.push_str(output::TRUNCATED);
                self.text.push('\n');
            }
        }
        // Cut only now and then: the cost of a cut is shared by all that was added since the last one.
        if self.text.len() > self.limit * 2 {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.text.len() > self.limit {
            self.text.drain(..output::ceil(&self.text, self.text.len() - self.limit));
            self.lost = true;
        }
    }

    fn text(mut self) -> String {
        self.cut();
        match self.lost && !self.text.starts_with(output::TRUNCATED) {
            true => format!("{}\n{}", output::TRUNCATED, self.text),
            false => self.text,
        }
    }

    fn latest(&self) -> &str {
        &self.text[output::ceil(&self.text, self.text.len().saturating_sub(LIVE_BYTES))..]
    }
}

/// Shows a running command's latest output, a few times a second, where no terminal does.
struct Live<'a> {
    cx: &'a ToolContext,
    silent: bool,
    waits: bool,
    next: Instant,
}

impl<'a> Live<'a> {
    fn new(cx: &'a ToolContext, silent: bool) -> Self {
        Self { cx, silent, waits: false, next: Instant::now() }
    }

    fn changed(&mut self, tail: &Tail) {
        if self.silent {
            return;
        }
        match Instant::now() >= self.next {
            true => self.show(tail),
            false => self.waits = true,
        }
    }

    fn show(&mut self, tail: &Tail) {
        self.waits = false;
        self.next = Instant::now() + LIVE_EVERY;
        let content = vec![ToolContent::Content(Content::text(tail.latest()))];
        (self.cx.progress)(ToolCallUpdate::of(self.cx.call.clone(), Bash::NAME).content(content));
    }
}
