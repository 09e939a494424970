//! Runs a command on any backend: reads its output as it arrives, shows it live, and kills the
//! command on timeout or when the turn is cancelled.

use super::output::{self, Lost};
use crate::shells::TIMED_OUT;
use crate::{
    LiveOutput, ToolCallUpdate, ToolContent, ToolContext, ToolError,
    limits::{
        COMMAND_PENDING_BYTES, LIVE_BYTES, LIVE_EVERY, LIVE_PENDING_BYTES, LIVE_TRICKLE_BYTES,
        TIMEOUT_IN_MILLISECONDS, WHOLE_BYTES,
    },
    text::cut,
    text::plain::PlainOutput,
};
use std::time::Duration;
use system::{ExitStatus, Output, Process, Route, SystemError};
use tokio::time::{Instant, sleep_until, timeout};

/// The outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    /// The command's output as plain text: without escape sequences, with carriage returns applied,
    /// within the limits, without trailing line endings. Only the beginning and the end if there
    /// was too much.
    pub said: String,
    /// Whether part of the output is missing in `said`.
    pub truncated: bool,
    /// The exit status; `None` after a timeout.
    pub exit: Option<ExitStatus>,
    /// The terminal in which the client shows the command.
    pub terminal: Option<ToolContent>,
}

/// Returns the timeout of a command: the requested one (seconds; values of 10,000 and above are
/// milliseconds), clamped to the limits.
pub fn limit(cx: &ToolContext, asked: Option<u64>) -> Duration {
    let asked = match asked {
        None => cx.limits.command_timeout,
        Some(milliseconds @ TIMEOUT_IN_MILLISECONDS..) => Duration::from_millis(milliseconds),
        Some(seconds) => Duration::from_secs(seconds),
    };
    asked.max(Duration::from_secs(1)).min(cx.limits.command_timeout_max)
}

/// Returns a note for the model on the timeout in effect, if the requested timeout was interpreted
/// as milliseconds or reduced to the maximum.
pub fn limit_note(cx: &ToolContext, asked: Option<u64>) -> Option<String> {
    let (asked, got) = (asked?, limit(cx, asked));
    let most = cx.limits.command_timeout_max;
    let maximum = if got == most { ", the maximum" } else { "" };
    match asked {
        TIMEOUT_IN_MILLISECONDS.. => Some(format!(
            "(timeout {asked} was read as milliseconds: the limit was {} s{maximum})",
            got.as_secs()
        )),
        _ if Duration::from_secs(asked) > got => {
            Some(format!("(timeout {asked} was reduced to {} s{maximum})", got.as_secs()))
        }
        _ => None,
    }
}

/// Returns how many bytes of unread output are buffered. A client keeps no more than the result's
/// limit, and a local command may produce output faster than it is read.
pub(super) fn pending_bytes(cx: &ToolContext) -> usize {
    match cx.system.routes().spawn {
        Route::Local => COMMAND_PENDING_BYTES,
        Route::Client | Route::Refused => cx.limits.command_output_bytes,
    }
}

/// Returns the message for a command that timed out.
pub fn timed_out(limit: Duration) -> String {
    format!("{TIMED_OUT}{}s", limit.as_secs())
}

/// Follows a process that a tool has just started until it ends. Shows the terminal before waiting
/// for output.
///
/// # Errors
/// [`ToolError::Cancelled`], with the output so far, if the turn is cancelled.
pub async fn follow(
    cx: &ToolContext,
    tool: &str,
    mut process: Box<dyn Process>,
    limit: Duration,
) -> Result<CommandOutcome, ToolError> {
    let terminal = process.terminal().cloned().map(ToolContent::Terminal);
    let live = Live::new(cx, tool, terminal.is_some());
    match &terminal {
        // Sent before waiting, so that the user can watch from the start.
        Some(terminal) => {
            (cx.call.progress)(ToolCallUpdate::of(cx.call.id.clone(), tool).content(vec![terminal.clone()]))
        }
        None => live.send(LiveOutput::Started { cwd: cx.cwd.clone() }),
    }
    let mut said = CommandOutput { plain: PlainOutput::default(), kept: Kept::new(WHOLE_BYTES), live };
    let end = until_end(cx, process.as_mut(), &mut said, Instant::now() + limit).await;
    if !matches!(end, End::Exited(_)) {
        stop(cx, process.as_mut(), &mut said).await;
    }
    let (said, lost, gaps) = said.end(&end, limit);
    let (said, shortened) = output::of_command(cx, said, lost).await;
    let truncated = gaps || shortened;
    let said = said.trim_end_matches('\n').to_owned();
    match end {
        End::Exited(status) => Ok(CommandOutcome { said, truncated, exit: Some(status), terminal }),
        End::TimedOut => Ok(CommandOutcome { said, truncated, exit: None, terminal }),
        End::Cancelled => Err(ToolError::Cancelled(Some(said).filter(|said| !said.is_empty()))),
        End::NotConfined(error) => Err(error.into()),
    }
}

/// The reason why the wait for a process ended.
enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
    /// The process never started: it could not be sandboxed where it was to run.
    NotConfined(SystemError),
}

/// Reads output until the process ends, times out, or the turn is cancelled.
async fn until_end(
    cx: &ToolContext,
    process: &mut dyn Process,
    said: &mut CommandOutput<'_>,
    deadline: Instant,
) -> End {
    loop {
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return End::Cancelled,
            () = sleep_until(deadline) => return End::TimedOut,
            () = sleep_until(said.live.next), if said.live.waits() => said.live.show(),
            piece = process.next_output() => match piece {
                Some(piece) => said.push(&piece),
                None => break,
            },
        }
    }
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => End::Cancelled,
        () = sleep_until(deadline) => End::TimedOut,
        status = process.wait() => match status {
            Err(error @ SystemError::NotConfined(_)) => End::NotConfined(error),
            // An unknown exit status counts as failure.
            status => End::Exited(status.unwrap_or_default()),
        },
    }
}

/// Kills a process and reads its remaining output, for a bounded time.
async fn stop(cx: &ToolContext, process: &mut dyn Process, said: &mut CommandOutput<'_>) {
    // The kill has a timeout of its own; this one guards against a backend that ignores it.
    let _ = timeout(cx.limits.kill_grace * 2, process.kill()).await;
    let last = async {
        while let Some(piece) = process.next_output().await {
            said.push(&piece);
        }
    };
    let _ = timeout(cx.limits.kill_grace, last).await;
}

/// A command's output as plain text, for both the result and the live display.
struct CommandOutput<'a> {
    plain: PlainOutput,
    kept: Kept,
    live: Live<'a>,
}

impl CommandOutput<'_> {
    fn push(&mut self, piece: &Output) {
        match piece {
            Output::Text(text) => {
                let ended = self.plain.push(text);
                self.kept.push(&ended);
                if !self.live.silent {
                    self.live.push(&ended, self.plain.unfinished().as_deref());
                }
            }
            Output::Gap => {
                self.rest();
                self.kept.gap();
                self.live.gap();
            }
        }
    }

    /// Flushes the unfinished last line as if it were complete.
    fn rest(&mut self) {
        let rest = self.plain.rest();
        self.kept.push(&rest);
        self.live.push(&rest, None);
    }

    /// Returns the whole output, how much of its middle was dropped, and whether anything else is
    /// missing.
    fn end(mut self, end: &End, limit: Duration) -> (String, Lost, bool) {
        self.rest();
        self.live.end(end, limit);
        self.kept.text()
    }
}

/// The kept output of a command: the first and the last half of the limit, and the amount dropped
/// in between.
struct Kept {
    head: String,
    tail: String,
    /// The size of each half in bytes.
    half: usize,
    lost: Lost,
    gaps: bool,
}

impl Kept {
    fn new(limit: usize) -> Self {
        let (head, tail) = (String::new(), String::new());
        Self { head, tail, half: limit / 2, lost: Lost::default(), gaps: false }
    }

    fn push(&mut self, text: &str) {
        let mut rest = text;
        if self.tail.is_empty() && self.head.len() < self.half {
            let at = cut::floor_char_boundary(text, self.half - self.head.len());
            self.head.push_str(&text[..at]);
            rest = &text[at..];
        }
        self.tail.push_str(rest);
        // Cut rarely, so that the cost of a cut is amortized over all output added since the last
        // one.
        if self.tail.len() > self.half * 2 {
            self.cut();
        }
    }

    fn gap(&mut self) {
        self.gaps = true;
        let last = if self.tail.is_empty() { &self.head } else { &self.tail };
        let breaks = if last.is_empty() || last.ends_with('\n') { "" } else { "\n" };
        self.push(&format!("{breaks}{}\n", cut::LOST));
    }

    fn cut(&mut self) {
        if self.tail.len() > self.half {
            let at = cut::ceil_char_boundary(&self.tail, self.tail.len() - self.half);
            let cut = &self.tail[..at];
            self.lost.lines += cut.bytes().filter(|byte| *byte == b'\n').count();
            self.lost.bytes += cut.len();
            self.tail.drain(..at);
        }
    }

    /// Returns the text, how much of its middle was dropped, and whether anything else is missing.
    fn text(mut self) -> (String, Lost, bool) {
        self.cut();
        if self.lost.bytes > 0 {
            self.head.push_str(&format!("\n[{} bytes are not kept]\n", self.lost.bytes));
        }
        self.head.push_str(&self.tail);
        (self.head, self.lost, self.gaps)
    }
}

/// Shows a running command's output live if no terminal does: in chunks, without repetition, and
/// only partly if there is a lot.
struct Live<'a> {
    cx: &'a ToolContext,
    tool: &'a str,
    silent: bool,
    /// The text to show next.
    pending: String,
    /// The part of the unfinished line that was already taken.
    ahead: String,
    next: Instant,
    began: Instant,
    /// The number of bytes shown so far.
    shown: usize,
}

impl<'a> Live<'a> {
    fn new(cx: &'a ToolContext, tool: &'a str, silent: bool) -> Self {
        let now = Instant::now();
        Self {
            cx,
            tool,
            silent,
            pending: String::new(),
            ahead: String::new(),
            next: now,
            began: now,
            shown: 0,
        }
    }

    fn waits(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes finished text, and the current part of the unfinished line unless it may still change.
    fn push(&mut self, ended: &str, unfinished: Option<&str>) {
        if self.silent {
            return;
        }
        if !ended.is_empty() {
            match ended.strip_prefix(self.ahead.as_str()) {
                Some(more) => self.pending.push_str(more),
                // The line was overwritten since it was shown, so it is shown again.
                None => {
                    self.pending.push('\n');
                    self.pending.push_str(ended);
                }
            }
            self.ahead.clear();
        }
        if let Some(unfinished) = unfinished
            && let Some(more) = unfinished.strip_prefix(self.ahead.as_str())
        {
            self.pending.push_str(more);
            self.ahead.push_str(more);
        }
        if self.pending.len() > LIVE_PENDING_BYTES {
            let cut = cut::ceil_char_boundary(&self.pending, self.pending.len() - LIVE_PENDING_BYTES / 2);
            let rest = self.pending.split_off(cut);
            self.pending.clear();
            self.gap();
            self.pending.push_str(&rest);
        }
        if self.waits() && Instant::now() >= self.next {
            self.show();
        }
    }

    fn gap(&mut self) {
        if self.silent {
            return;
        }
        let mark = format!("\n{}\n", cut::LOST);
        if !self.pending.ends_with(&mark) {
            self.pending.push_str(&mark);
        }
    }

    /// Shows the pending text if the budget allows. The budget grows with time, so a command with a
    /// lot of output is shown in extracts.
    fn show(&mut self) {
        self.next = Instant::now() + LIVE_EVERY;
        let seconds = usize::try_from(self.began.elapsed().as_secs()).unwrap_or(usize::MAX);
        let room = LIVE_BYTES.saturating_add(seconds.saturating_mul(LIVE_TRICKLE_BYTES));
        if !self.pending.is_empty() && self.shown + self.pending.len() <= room {
            let text = std::mem::take(&mut self.pending);
            self.shown += text.len();
            self.send(LiveOutput::Text(text));
        } else {
            // The budget grows every second.
            self.next = Instant::now() + Duration::from_secs(1);
        }
    }

    fn end(&mut self, end: &End, limit: Duration) {
        if self.silent {
            return;
        }
        if let End::TimedOut = end {
            self.pending.push_str(&format!("\n{}\n", timed_out(limit)));
        }
        if !self.pending.is_empty() {
            let text = std::mem::take(&mut self.pending);
            self.send(LiveOutput::Text(text));
        }
        let status = match end {
            End::Exited(status) => status.clone(),
            End::TimedOut | End::Cancelled | End::NotConfined(_) => ExitStatus::default(),
        };
        self.send(LiveOutput::Ended(status));
    }

    fn send(&self, output: LiveOutput) {
        let mut update = ToolCallUpdate::of(self.cx.call.id.clone(), self.tool);
        update.output = Some(output);
        (self.cx.call.progress)(update);
    }
}
