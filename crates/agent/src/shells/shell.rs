//! One background command: its task reads the output as it arrives, writes its input and ends it.

use super::{NewShell, ending};
use crate::{
    limits::{SHELL_BYTES, SHELL_INPUT_WAIT},
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
    sync::{Notify, mpsc, oneshot},
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
    confined: bool,
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
    end: Option<ShellEnd>,
    /// Whether the model knows of the end.
    end_known: bool,
}

enum Order {
    Input(String, oneshot::Sender<Result<(), SystemError>>),
    Stop,
}

impl Shell {
    pub(super) fn start(id: String, new: NewShell, process: Box<dyn Process>) -> Self {
        let (orders, received) = mpsc::channel(1);
        let shared = Arc::new(Shared::default());
        let terminal = process.terminal().cloned();
        let began = Instant::now();
        let deadline = new.limit.map(|limit| began + limit);
        let task = tokio::spawn(carry(process, shared.clone(), received, deadline)).abort_handle();
        Self { id, line: new.line, confined: new.confined, terminal, began, orders, shared, task }
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
            Some(end) => format!("has ended ({})", end.words()),
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
        UnreadOutput { said: state.take_unread(), end: state.end.clone() }
    }

    /// Returns how the command ended by itself, with the unread output, unless the end is already
    /// known to the model. The output stays unread.
    pub(super) fn take_ended(&self) -> Option<(String, String)> {
        let mut state = self.shared.lock();
        let end = state.end.as_ref().filter(|_| !state.end_known)?.words();
        state.end_known = true;
        Some((end, format!("{}{}", state.unread, state.unfinished)))
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
        self.lock().end = Some(end);
        self.changed.notify_waiters();
    }
}

impl State {
    fn push(&mut self, ended: &str, unfinished: String) {
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
    shared.push(&plain.rest(), None);
    shared.end(end);
}

fn append_output(shared: &Shared, plain: &mut PlainOutput, piece: &Output) {
    match piece {
        Output::Text(text) => {
            let ended = plain.push(text);
            shared.push(&ended, plain.unfinished());
        }
        Output::Gap => {
            let rest = plain.rest();
            shared.push(&format!("{rest}\n{}\n", cut::LOST), None);
        }
    }
}
