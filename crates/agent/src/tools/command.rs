//! Runs a command on any backend: reads its output as it arrives, shows it live, and kills the
//! command on timeout or when the turn is cancelled.

use super::{
    kept::Kept,
    output::{self, Lost},
};
use crate::shells::TIMED_OUT;
use crate::{
    LiveOutput, ToolCallUpdate, ToolContent, ToolContext, ToolError,
    limits::{
        COMMAND_PENDING_BYTES, LIVE_BYTES, LIVE_EVERY, LIVE_PENDING_BYTES, LIVE_TRICKLE_BYTES,
        TIMEOUT_IN_MILLISECONDS, WHOLE_BYTES,
    },
    text::colours::Colours,
    text::cut,
    text::plain::{Painted, PlainOutput},
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
    /// The colours of `said`.
    pub colours: Colours,
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
        None => live.send(LiveOutput::Started { cwd: cx.cwd.clone() }, Colours::default()),
    }
    let mut said = CommandOutput { plain: PlainOutput::default(), kept: Kept::new(WHOLE_BYTES), live };
    let end = until_end(cx, process.as_mut(), &mut said, Instant::now() + limit).await;
    if !matches!(end, End::Exited(_)) {
        stop(cx, process.as_mut(), &mut said).await;
    }
    let (said, lost, gaps) = said.end(&end, limit);
    let Painted { text: whole, mut colours } = said;
    // Without colours there is nothing to place, so the whole text is not kept.
    let placed = (!colours.is_empty()).then(|| whole.clone());
    let (said, shortened) = output::of_command(cx, whole, lost).await;
    if let Some(whole) = placed {
        colours = colours.replaced(&whole, &said);
        colours.keep_ends();
    }
    let truncated = gaps || shortened;
    let said = said.trim_end_matches('\n').to_owned();
    match end {
        End::Exited(status) => Ok(CommandOutcome { said, colours, truncated, exit: Some(status), terminal }),
        End::TimedOut => Ok(CommandOutcome { said, colours, truncated, exit: None, terminal }),
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
                    self.live.push(ended, self.plain.unfinished());
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
        self.live.push(rest, None);
    }

    /// Returns the whole output, how much of its middle was dropped, and whether anything else is
    /// missing.
    fn end(mut self, end: &End, limit: Duration) -> (Painted, Lost, bool) {
        self.rest();
        self.live.end(end, limit);
        self.kept.output()
    }
}

/// Shows a running command's output live if no terminal does: in chunks, without repetition, and
/// only partly if there is a lot.
struct Live<'a> {
    cx: &'a ToolContext,
    tool: &'a str,
    silent: bool,
    /// The text to show next.
    pending: Painted,
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
            pending: Painted::default(),
            ahead: String::new(),
            next: now,
            began: now,
            shown: 0,
        }
    }

    fn waits(&self) -> bool {
        !self.pending.text.is_empty()
    }

    /// Takes finished text, and the current part of the unfinished line unless it may still change.
    fn push(&mut self, mut ended: Painted, unfinished: Option<Painted>) {
        if self.silent {
            return;
        }
        if !ended.text.is_empty() {
            match ended.text.starts_with(self.ahead.as_str()) {
                true => ended.cut_front(self.ahead.len()),
                // The line was overwritten since it was shown, so it is shown again.
                false => self.pending.append(&Painted::from("\n".to_owned())),
            }
            self.pending.append(&ended);
            self.ahead.clear();
        }
        if let Some(mut unfinished) = unfinished.filter(|line| line.text.starts_with(self.ahead.as_str())) {
            unfinished.cut_front(self.ahead.len());
            self.pending.append(&unfinished);
            self.ahead.push_str(&unfinished.text);
        }
        let pending = &self.pending.text;
        if pending.len() > LIVE_PENDING_BYTES {
            let cut = cut::ceil_char_boundary(pending, pending.len() - LIVE_PENDING_BYTES / 2);
            self.pending.cut_front(cut);
            let rest = std::mem::take(&mut self.pending);
            self.gap();
            self.pending.append(&rest);
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
        if !self.pending.text.ends_with(&mark) {
            self.pending.append(&Painted::from(mark));
        }
    }

    /// Shows the pending text if the budget allows. The budget grows with time, so a command with a
    /// lot of output is shown in extracts.
    fn show(&mut self) {
        self.next = Instant::now() + LIVE_EVERY;
        let seconds = usize::try_from(self.began.elapsed().as_secs()).unwrap_or(usize::MAX);
        let room = LIVE_BYTES.saturating_add(seconds.saturating_mul(LIVE_TRICKLE_BYTES));
        if self.waits() && self.shown + self.pending.text.len() <= room {
            self.shown += self.pending.text.len();
            self.send_pending();
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
            self.pending.append(&Painted::from(format!("\n{}\n", timed_out(limit))));
        }
        if self.waits() {
            self.send_pending();
        }
        let status = match end {
            End::Exited(status) => status.clone(),
            End::TimedOut | End::Cancelled | End::NotConfined(_) => ExitStatus::default(),
        };
        self.send(LiveOutput::Ended(status), Colours::default());
    }

    fn send_pending(&mut self) {
        let Painted { text, mut colours } = std::mem::take(&mut self.pending);
        colours.keep_ends();
        self.send(LiveOutput::Text(text), colours);
    }

    fn send(&self, output: LiveOutput, colours: Colours) {
        let mut update = ToolCallUpdate::of(self.cx.call.id.clone(), self.tool);
        (update.output, update.colours) = (Some(output), colours);
        (self.cx.call.progress)(update);
    }
}
