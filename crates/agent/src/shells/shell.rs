//! One background command: its task reads the output as it arrives, writes its input and ends it.

use super::{NewShell, ending};
use crate::{
    ShellEnding, ShellUpdate, ToolCallId,
    limits::{SHELL_BYTES, SHELL_INPUT_WAIT, SHELL_LINE_CHARS, SHELL_SHOWN_BYTES},
    text::cut,
    text::plain::PlainOutput,
};
use std::{
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use system::{ExitStatus, Output, Process, SystemError, TerminalId};
use tokio::{
    sync::{Notify, OwnedSemaphorePermit, mpsc, oneshot},
    task::AbortHandle,
    time::{Instant, sleep_until, timeout, timeout_at},
};

/// How a background command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShellEnd {
    /// It exited by itself.
    Exited(ExitStatus),
    /// It was stopped by a call, or by the end of the session.
    Stopped,
    /// It reached its timeout.
    TimedOut,
    /// It never ran: the required sandbox was not available.
    NotConfined(String),
}

impl ShellEnd {
    /// Describes the end, for the last line of a result.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Exited(status) => ending(status),
            Self::Stopped => "Stopped".to_owned(),
            Self::TimedOut => "Stopped: it reached its time limit".to_owned(),
            Self::NotConfined(why) => why.clone(),
        }
    }

    /// Returns the end for users.
    fn outcome(&self) -> ShellEnding {
        let how = match self {
            Self::Exited(ExitStatus { signal: Some(signal), .. }) => signal.clone(),
            Self::Exited(ExitStatus { code: Some(code), .. }) => format!("exit {code}"),
            Self::Exited(_) => "exit unknown".to_owned(),
            Self::Stopped => "stopped".to_owned(),
            Self::TimedOut => "timed out".to_owned(),
            Self::NotConfined(_) => "not started".to_owned(),
        };
        let success = matches!(self, Self::Exited(status) if status.success());
        ShellEnding { how, success, stopped: *self == Self::Stopped }
    }
}

/// Output that was read, and how the command ended, if it has.
#[derive(Debug)]
pub(crate) struct UnreadOutput {
    /// The output since the last read, as plain text.
    pub(crate) said: String,
    /// How it ended.
    pub(crate) end: Option<ShellEnd>,
}

/// A background command. Dropping the last copy kills it.
pub(crate) struct Shell {
    id: String,
    line: String,
    call: ToolCallId,
    confined: bool,
    keeps: bool,
    terminal: Option<TerminalId>,
    began: Instant,
    orders: mpsc::Sender<Order>,
    shared: Arc<Shared>,
    task: AbortHandle,
}

/// The state shared by the task and the session.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    /// The most recent unread output.
    unread: String,
    /// The last, incomplete line.
    unfinished: String,
    /// The part of that line that was already read.
    ahead: String,
    /// Bytes of output dropped before they were read.
    dropped: usize,
    /// The last output, read or unread.
    recent: String,
    end: Option<(ShellEnd, Instant)>,
    /// Whether the model knows of the end.
    end_known: bool,
    reported: Reported,
    /// Given back when the command has ended.
    kept: Option<OwnedSemaphorePermit>,
}

/// What users were informed of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Reported {
    /// Nothing: the call that started the command is still running, or says how it ended.
    #[default]
    Nothing,
    /// It is to be reported.
    Due,
    Started,
    Ended,
}

enum Order {
    Input(String, oneshot::Sender<Result<(), SystemError>>),
    Stop,
}

impl Shell {
    pub(super) fn start(id: String, new: NewShell, process: Box<dyn Process>, news: Arc<Notify>) -> Self {
        let (orders, received) = mpsc::channel(1);
        let shared = Arc::new(Shared::default());
        let NewShell { line, confined, limit, call, kept, .. } = new;
        let terminal = process.terminal().cloned();
        // The client ends its terminals with the session.
        let keeps = kept.is_some() && terminal.is_none();
        shared.lock().kept = kept.filter(|_| keeps);
        let began = Instant::now();
        let deadline = limit.map(|limit| began + limit);
        let carried = shared.clone();
        let carrying = async move {
            carry(process, carried, received, deadline).await;
            news.notify_one();
        };
        let task = tokio::spawn(carrying).abort_handle();
        Self { id, line, call, confined, keeps, terminal, began, orders, shared, task }
    }

    /// Whether it keeps running when the session closes.
    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// Makes its start and its end be reported.
    pub(super) fn report(&self) {
        self.shared.lock().reported = Reported::Due;
    }

    /// Returns it as it is now, if users were not informed of that yet.
    pub(super) fn take_change(&self) -> Option<ShellUpdate> {
        {
            let mut state = self.shared.lock();
            let now = match (state.reported, state.end.is_some()) {
                (Reported::Due, false) => Reported::Started,
                (Reported::Due | Reported::Started, true) => Reported::Ended,
                _ => return None,
            };
            state.reported = now;
        }
        Some(self.update())
    }

    /// Returns it as it is now.
    pub(super) fn update(&self) -> ShellUpdate {
        let end = self.shared.lock().end.clone();
        let until = end.as_ref().map_or_else(Instant::now, |(_, at)| *at);
        ShellUpdate {
            id: self.id.clone(),
            command: self.line(SHELL_LINE_CHARS),
            call: self.call.clone(),
            end: end.map(|(end, _)| end.outcome()),
            seconds: (until - self.began).as_secs(),
            keeps: self.keeps,
            in_terminal: self.terminal.is_some(),
        }
    }

    /// Returns the end of its output, read or unread.
    pub(super) fn recent(&self) -> String {
        let state = self.shared.lock();
        format!("{}{}", state.recent, state.unfinished)
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the command line on one line, truncated to that many characters.
    pub(crate) fn line(&self, chars: usize) -> String {
        cut::cut(&crate::one_line(&self.line), chars).into_owned()
    }

    /// Whether it runs in a sandbox.
    pub(crate) fn is_confined(&self) -> bool {
        self.confined
    }

    /// Returns the terminal in which a client shows it.
    pub(crate) fn terminal(&self) -> Option<&TerminalId> {
        self.terminal.as_ref()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.shared.lock().end.is_none()
    }

    /// Describes how long it has been running, or how it ended.
    pub(super) fn state_words(&self) -> String {
        match &self.shared.lock().end {
            None => format!("runs for {} s", self.began.elapsed().as_secs()),
            Some((end, _)) => format!("has ended ({})", end.words()),
        }
    }

    /// Writes to its input.
    ///
    /// # Errors
    ///
    /// Fails with a message for the model if the command does not accept the input.
    pub(crate) async fn write(&self, text: String) -> Result<(), String> {
        let (reply, answer) = oneshot::channel();
        let ended = || format!("{} has ended and takes no input.", self.id);
        self.orders.send(Order::Input(text, reply)).await.map_err(|_| ended())?;
        match answer.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(SystemError::NoInput)) if self.terminal.is_some() => Err(format!(
                "{} runs in the user's terminal, where only the user can type: ask the user to.",
                self.id
            )),
            Ok(Err(error)) => Err(format!("{}: {error}.", self.id)),
            Err(_) => Err(ended()),
        }
    }

    /// Stops the command and waits until it has ended.
    pub(crate) async fn stop(&self) {
        // If the receiver is gone, the command has ended.
        let _ = self.orders.send(Order::Stop).await;
        self.until(|state| state.end.is_some()).await;
    }

    /// Waits until the command has ended, with a timeout.
    pub(crate) async fn ended_within(&self, wait: Duration) {
        let _ = timeout(wait, self.until(|state| state.end.is_some())).await;
    }

    /// Waits until there is unread output or the command has ended, with a timeout.
    pub(crate) async fn wait_for_output(&self, wait: Duration) {
        let _ = timeout(wait, self.until(|state| state.has_unread() || state.end.is_some())).await;
    }

    /// Takes the output since the last read. The end, if included, counts as known to the model.
    pub(crate) fn take(&self) -> UnreadOutput {
        let mut state = self.shared.lock();
        state.end_known |= state.end.is_some();
        let said = state.take_unread();
        UnreadOutput { said, end: state.end.clone().map(|(end, _)| end) }
    }

    /// Returns the unread output of a command that has ended, unless the end is already known to
    /// the model. The output stays unread.
    pub(super) fn take_ended(&self) -> Option<String> {
        let mut state = self.shared.lock();
        state.end.as_ref().filter(|_| !state.end_known)?;
        state.end_known = true;
        Some(format!("{}{}", state.unread, state.unfinished))
    }

    async fn until(&self, reached: impl Fn(&State) -> bool) {
        loop {
            let changed = self.shared.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // Registered before the check, so that no change is missed.
            changed.as_mut().enable();
            if reached(&self.shared.lock()) {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes completed text, and the incomplete last line.
    fn push(&self, ended: &str, unfinished: Option<String>) {
        self.lock().push(ended, unfinished.unwrap_or_default());
        self.changed.notify_waiters();
    }

    fn end(&self, end: ShellEnd) {
        let mut state = self.lock();
        state.end = Some((end, Instant::now()));
        state.kept = None;
        drop(state);
        self.changed.notify_waiters();
    }
}

impl State {
    fn push(&mut self, ended: &str, unfinished: String) {
        self.recent.push_str(ended);
        if self.recent.len() > 2 * SHELL_SHOWN_BYTES {
            let at = cut::ceil_char_boundary(&self.recent, self.recent.len() - SHELL_SHOWN_BYTES);
            self.recent.drain(..at);
        }
        if !ended.is_empty() {
            let ahead = std::mem::take(&mut self.ahead);
            match ended.strip_prefix(&ahead) {
                Some(more) => self.unread.push_str(more),
                // The line was overwritten since it was read, so it is reported again.
                None => self.unread.extend(["\n", ended]),
            }
        }
        self.unfinished = unfinished;
        if self.unread.len() > SHELL_BYTES {
            let at = cut::ceil_char_boundary(&self.unread, self.unread.len() - SHELL_BYTES / 2);
            self.unread.drain(..at);
            self.dropped += at;
        }
    }

    fn has_unread(&self) -> bool {
        !self.unread.is_empty() || !self.unfinished.is_empty() && self.unfinished != self.ahead
    }

    fn take_unread(&mut self) -> String {
        let mut unread = std::mem::take(&mut self.unread);
        unread.push_str(self.unfinished.strip_prefix(&self.ahead).unwrap_or(&self.unfinished));
        self.ahead.clone_from(&self.unfinished);
        match std::mem::take(&mut self.dropped) {
            0 => unread,
            bytes => {
                format!("{}: {bytes} bytes were dropped before they were read]\n{unread}", cut::TRUNCATED)
            }
        }
    }
}

/// Serves a process until it has ended.
async fn carry(
    mut process: Box<dyn Process>,
    shared: Arc<Shared>,
    mut orders: mpsc::Receiver<Order>,
    deadline: Option<Instant>,
) {
    let mut plain = PlainOutput::default();
    let late = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    };
    let mut late = std::pin::pin!(late);
    let stopped = loop {
        tokio::select! {
            biased;
            order = orders.recv() => match order {
                Some(Order::Input(text, reply)) => {
                    let until = Instant::now() + SHELL_INPUT_WAIT;
                    let written = timeout_at(until, process.write_input(&text)).await;
                    // The receiver may have been dropped.
                    let _ = reply.send(written.unwrap_or(Err(SystemError::NoInput)));
                }
                Some(Order::Stop) | None => break Some(ShellEnd::Stopped),
            },
            () = &mut late => break Some(ShellEnd::TimedOut),
            piece = process.next_output() => match piece {
                Some(piece) => append_output(&shared, &mut plain, &piece),
                None => break None,
            },
        }
    };
    let end = match stopped {
        Some(end) => {
            process.kill().await;
            let last = async {
                while let Some(piece) = process.next_output().await {
                    append_output(&shared, &mut plain, &piece);
                }
            };
            let _ = timeout(SHELL_INPUT_WAIT, last).await;
            end
        }
        None => match process.wait().await {
            Err(error @ SystemError::NotConfined(_)) => ShellEnd::NotConfined(error.to_string()),
            status => ShellEnd::Exited(status.unwrap_or_default()),
        },
    };
    shared.push(&plain.rest().text, None);
    shared.end(end);
}

fn append_output(shared: &Shared, plain: &mut PlainOutput, piece: &Output) {
    match piece {
        Output::Text(text) => {
            let ended = plain.push(text);
            shared.push(&ended.text, plain.unfinished().map(|line| line.text));
        }
        Output::Gap => {
            let rest = plain.rest().text;
            shared.push(&format!("{rest}\n{}\n", cut::LOST), None);
        }
    }
}
