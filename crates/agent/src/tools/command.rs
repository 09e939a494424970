//! A command's run, whoever carries it out: its output is taken as it comes and shown, it is ended when its time or the turn is over.

use super::output;
use crate::{
    LiveOutput, ToolCallUpdate, ToolContent, ToolContext, ToolError,
    limits::{LIVE_BYTES, LIVE_EVERY, LIVE_PENDING_BYTES, LIVE_TRICKLE_BYTES},
    plain::PlainOutput,
};
use std::time::Duration;
use system::{ExitStatus, Output, Process, SystemError};
use tokio::time::{Instant, sleep_until, timeout};

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// What it said as plain text (no sequences, carriage returns applied), within the limits,
    /// without line ends at the end; the last of it where there was too much.
    pub said: String,
    /// Whether something is missing in `said`.
    pub truncated: bool,
    /// How it ended; `None` when its time was up.
    pub exit: Option<ExitStatus>,
    /// The terminal in which the client shows it.
    pub terminal: Option<ToolContent>,
}

/// How long a command may run: as asked (in seconds), within the limits.
pub fn limit(cx: &ToolContext, asked: Option<u64>) -> Duration {
    let asked = asked.map_or(cx.limits.command_timeout, Duration::from_secs);
    asked.max(Duration::from_secs(1)).min(cx.limits.command_timeout_max)
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
    let mut said =
        Said { plain: PlainOutput::default(), tail: Tail::new(cx.limits.command_output_bytes), live };
    let end = until_end(cx, process.as_mut(), &mut said, Instant::now() + limit).await;
    if !matches!(end, End::Exited(_)) {
        stop(cx, process.as_mut(), &mut said).await;
    }
    let (said, truncated) = said.end(&end, limit);
    let capped = output::cap_tail(said, &cx.limits);
    let truncated = truncated || capped.starts_with(output::TRUNCATED);
    let said = capped.trim_end_matches('\n').to_owned();
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
    tail: Tail,
    live: Live<'a>,
}

impl Said<'_> {
    fn push(&mut self, piece: &Output) {
        match piece {
            Output::Text(text) => {
                let ended = self.plain.push(text);
                self.tail.push(&ended);
                if !self.live.silent {
                    self.live.push(&ended, self.plain.unfinished().as_deref());
                }
            }
            Output::Gap => {
                self.rest();
                self.tail.gap();
                self.live.gap();
            }
        }
    }

    /// The line that has not ended is complete.
    fn rest(&mut self) {
        let rest = self.plain.rest();
        self.tail.push(&rest);
        self.live.push(&rest, None);
    }

    /// All of it, and whether something is missing in it.
    fn end(mut self, end: &End, limit: Duration) -> (String, bool) {
        self.rest();
        self.live.end(end, limit);
        self.tail.text()
    }
}

/// The end of a command's output, at most twice the limit in memory.
struct Tail {
    text: String,
    limit: usize,
    lost: bool,
    gaps: bool,
}

impl Tail {
    fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, lost: false, gaps: false }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        // Cut only now and then: the cost of a cut is shared by all that was added since the last one.
        if self.text.len() > self.limit * 2 {
            self.cut();
        }
    }

    fn gap(&mut self) {
        self.gaps = true;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.push(output::TRUNCATED);
        self.push("\n");
    }

    fn cut(&mut self) {
        if self.text.len() > self.limit {
            self.text.drain(..output::ceil(&self.text, self.text.len() - self.limit));
            self.lost = true;
        }
    }

    /// The text, and whether something is missing in it.
    fn text(mut self) -> (String, bool) {
        self.cut();
        match self.lost && !self.text.starts_with(output::TRUNCATED) {
            true => (format!("{}\n{}", output::TRUNCATED, self.text), true),
            false => (self.text, self.lost || self.gaps),
        }
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
            let cut = output::ceil(&self.pending, self.pending.len() - LIVE_PENDING_BYTES / 2);
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
        let mark = format!("\n{}\n", output::TRUNCATED);
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
