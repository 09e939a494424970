//! A command's run, whoever carries it out: its output is taken as it comes and shown, it is ended when its time or the turn is over.

use super::output::{self, Lost};
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

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What it said as plain text (no sequences, carriage returns applied), within the limits,
    /// without line ends at the end; its beginning and its end where there was too much.
    pub said: String,
    /// Whether something is missing in `said`.
    pub truncated: bool,
    /// How it ended; `None` when its time was up.
    pub exit: Option<ExitStatus>,
    /// The terminal in which the client shows it.
    pub terminal: Option<ToolContent>,
}

/// How long a command may run: as asked (in seconds, or from 10,000 on in milliseconds), within the
/// limits.
pub fn limit(cx: &ToolContext, asked: Option<u64>) -> Duration {
    let asked = match asked {
        None => cx.limits.command_timeout,
        Some(milliseconds @ TIMEOUT_IN_MILLISECONDS..) => Duration::from_millis(milliseconds),
        Some(seconds) => Duration::from_secs(seconds),
    };
    asked.max(Duration::from_secs(1)).min(cx.limits.command_timeout_max)
}

/// How a limit was read, where the call asked for another than it got; for the model.
pub fn limit_note(cx: &ToolContext, asked: Option<u64>) -> Option<String> {
    let (asked, got) = (asked?, limit(cx, asked));
    let most = cx.limits.command_timeout_max;
    let cut = if got == most { format!("; {} s is the most", most.as_secs()) } else { String::new() };
    match asked {
        TIMEOUT_IN_MILLISECONDS.. => Some(format!(
            "(timeout {asked} was read as milliseconds: the limit was {} s{cut})",
            got.as_secs()
        )),
        _ if Duration::from_secs(asked) > got => {
            Some(format!("(timeout {asked} was cut: the limit was {} s{cut})", got.as_secs()))
        }
        _ => None,
    }
}

/// How many bytes of a command's output may wait to be taken: a client keeps no more of it, and
/// what runs on this machine may be faster than whoever takes it.
pub(super) fn pending_bytes(cx: &ToolContext) -> usize {
    match cx.system.routes().spawn {
        Route::Local => COMMAND_PENDING_BYTES,
        Route::Client | Route::Refused => cx.limits.command_output_bytes,
    }
}

/// What is said of a command whose time was up.
pub fn timed_out(limit: Duration) -> String {
    format!("Process timed out after {}s", limit.as_secs())
}

/// Follows a process that a tool has just started to its end. The terminal is shown before any output is waited for.
///
/// # Errors
/// [`ToolError::Cancelled`], with what the command said until then, when the turn is.
pub async fn follow(
    cx: &ToolContext,
    tool: &str,
    mut process: Box<dyn Process>,
    limit: Duration,
) -> Result<Ran, ToolError> {
    let terminal = process.terminal().cloned().map(ToolContent::Terminal);
    let live = Live::new(cx, tool, terminal.is_some());
    match &terminal {
        // The user watches from here on; waiting comes after.
        Some(terminal) => {
            (cx.progress)(ToolCallUpdate::of(cx.call.clone(), tool).content(vec![terminal.clone()]))
        }
        None => live.tell(LiveOutput::Started { cwd: cx.cwd.clone() }),
    }
    let mut said = Said { plain: PlainOutput::default(), kept: Kept::new(WHOLE_BYTES), live };
    let end = until_end(cx, process.as_mut(), &mut said, Instant::now() + limit).await;
    if !matches!(end, End::Exited(_)) {
        stop(cx, process.as_mut(), &mut said).await;
    }
    let (said, lost, gaps) = said.end(&end, limit);
    let (said, shortened) = output::of_command(cx, said, lost).await;
    let truncated = gaps || shortened;
    let said = said.trim_end_matches('\n').to_owned();
    match end {
        End::Exited(status) => Ok(Ran { said, truncated, exit: Some(status), terminal }),
        End::TimedOut => Ok(Ran { said, truncated, exit: None, terminal }),
        End::Cancelled => Err(ToolError::Cancelled(Some(said).filter(|said| !said.is_empty()))),
        End::NotConfined(error) => Err(error.into()),
    }
}

/// How the wait for a process ended.
enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
    /// It never started: it could not be confined where it was to run.
    NotConfined(SystemError),
}

/// Takes output until the process ends, its time is up or the turn is cancelled.
async fn until_end(
    cx: &ToolContext,
    process: &mut dyn Process,
    said: &mut Said<'_>,
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

/// Kills a process and takes what it still had to say, for a bounded time.
async fn stop(cx: &ToolContext, process: &mut dyn Process, said: &mut Said<'_>) {
    // The kill has a bound of its own; this one is for a backend that breaks it.
    let _ = timeout(cx.limits.kill_grace * 2, process.kill()).await;
    let last = async {
        while let Some(piece) = process.next_output().await {
            said.push(&piece);
        }
    };
    let _ = timeout(cx.limits.kill_grace, last).await;
}

/// What a command says: as plain text, for the result and for those who watch.
struct Said<'a> {
    plain: PlainOutput,
    kept: Kept,
    live: Live<'a>,
}

impl Said<'_> {
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

    /// The line that has not ended is complete.
    fn rest(&mut self) {
        let rest = self.plain.rest();
        self.kept.push(&rest);
        self.live.push(&rest, None);
    }

    /// All of it, how much of its middle is lost, and whether something else is missing in it.
    fn end(mut self, end: &End, limit: Duration) -> (String, Lost, bool) {
        self.rest();
        self.live.end(end, limit);
        self.kept.text()
    }
}

/// A command's output: its first and its last half of what is kept, and how much is lost between.
struct Kept {
    head: String,
    tail: String,
    /// Bytes of each half.
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
            let at = cut::floor(text, self.half - self.head.len());
            self.head.push_str(&text[..at]);
            rest = &text[at..];
        }
        self.tail.push_str(rest);
        // Cut only now and then: the cost of a cut is shared by all that was added since the last one.
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
            let at = cut::ceil(&self.tail, self.tail.len() - self.half);
            let cut = &self.tail[..at];
            self.lost.lines += cut.bytes().filter(|byte| *byte == b'\n').count();
            self.lost.bytes += cut.len();
            self.tail.drain(..at);
        }
    }

    /// The text, how much is lost in its middle, and whether anything else is missing in it.
    fn text(mut self) -> (String, Lost, bool) {
        self.cut();
        if self.lost.bytes > 0 {
            self.head.push_str(&format!("\n[{} bytes are not kept]\n", self.lost.bytes));
        }
        self.head.push_str(&self.tail);
        (self.head, self.lost, self.gaps)
    }
}

/// Shows a running command's output as it comes where no terminal does: in pieces, none of it twice, and not all of it where there is much.
struct Live<'a> {
    cx: &'a ToolContext,
    tool: &'a str,
    silent: bool,
    /// What comes next.
    pending: String,
    /// What was taken of the line that had not ended.
    ahead: String,
    next: Instant,
    began: Instant,
    /// Bytes shown so far.
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

    /// Takes text that ended, and what is there of the line that has not, unless it may change.
    fn push(&mut self, ended: &str, unfinished: Option<&str>) {
        if self.silent {
            return;
        }
        if !ended.is_empty() {
            match ended.strip_prefix(self.ahead.as_str()) {
                Some(more) => self.pending.push_str(more),
                // Written over since it was shown: the line is told again.
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
            let cut = cut::ceil(&self.pending, self.pending.len() - LIVE_PENDING_BYTES / 2);
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

    /// Shows what there is, as far as there is room: a command that says a lot for long is shown in extracts.
    fn show(&mut self) {
        self.next = Instant::now() + LIVE_EVERY;
        let seconds = usize::try_from(self.began.elapsed().as_secs()).unwrap_or(usize::MAX);
        let room = LIVE_BYTES.saturating_add(seconds.saturating_mul(LIVE_TRICKLE_BYTES));
        if !self.pending.is_empty() && self.shown + self.pending.len() <= room {
            let text = std::mem::take(&mut self.pending);
            self.shown += text.len();
            self.tell(LiveOutput::Text(text));
        } else {
            // Room comes by the second.
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
            self.tell(LiveOutput::Text(text));
        }
        let status = match end {
            End::Exited(status) => status.clone(),
            End::TimedOut | End::Cancelled | End::NotConfined(_) => ExitStatus::default(),
        };
        self.tell(LiveOutput::Ended(status));
    }

    fn tell(&self, output: LiveOutput) {
        let mut update = ToolCallUpdate::of(self.cx.call.clone(), self.tool);
        update.output = Some(output);
        (self.cx.progress)(update);
    }
}
