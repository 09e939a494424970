//! A command in the client's terminal.
//!
//! It is executed at most once: any failure after the client accepted `terminal/create` is a
//! failure of the command. Its terminal is released exactly once: a guard holds the id from the
//! moment the client's response is read.

use super::capabilities::WithdrawnCapabilities;
use super::{
    call::{CallError, Caller, answer},
    output_window::OutputWindow,
    terminal_command::TerminalCommand,
};
use crate::limits::{KILL_WAIT, LAUNCH_WAIT, OUTPUT_POLL, OUTPUT_POLL_MAX};
use agent_client_protocol::v1::schema as acp;
use async_trait::async_trait;
use serde_json::Value;
use std::{
    collections::VecDeque,
    sync::{Arc, OnceLock},
};
use system::{Command, ExitStatus, ExternalLaunch, Output, Process, SystemError, TerminalId};
use tokio::{
    sync::{OwnedSemaphorePermit, oneshot, watch},
    task::AbortHandle,
    time::{Instant, sleep_until, timeout},
};

/// A running command.
pub(super) struct AcpProcess {
    caller: Caller,
    program: String,
    /// The task that waits for the exit, concurrently with polls of the output. Started at the
    /// first call that needs the output or the exit, so that the call can display the terminal
    /// before.
    waiter: Option<AbortHandle>,
    state: Arc<watch::Sender<State>>,
    window: OutputWindow,
    pending: VecDeque<Output>,
    output_limit: usize,
    started: Instant,
    next_poll: Instant,
    drained: bool,
    launcher: Option<RunningLauncher>,
    /// Dropped last: no request may concern a released terminal.
    terminal: Terminal,
}

/// The state of the command.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// It runs. `unwatched` is set if `terminal/wait_for_exit` failed.
    Running { unwatched: bool },
    /// It exited.
    Ended(ExitStatus),
    /// Its exit can no longer be determined.
    Lost(CallError),
}

impl AcpProcess {
    /// Starts a command in the client's terminal, encoded as `command_line`.
    /// [`CallError::Unsupported`] and [`CallError::Refused`] mean that nothing ran.
    pub(super) async fn start(
        caller: &Caller,
        command: &Command,
        command_line: TerminalCommand,
    ) -> Result<Self, CallError> {
        let terminal = create(caller, command, command_line).await?;
        let state = Arc::new(watch::channel(State::Running { unwatched: false }).0);
        let now = Instant::now();
        Ok(Self {
            caller: caller.clone(),
            program: command.program.clone(),
            waiter: None,
            state,
            window: OutputWindow::default(),
            pending: VecDeque::new(),
            output_limit: command.output_limit,
            started: now,
            next_poll: now + OUTPUT_POLL,
            drained: false,
            launcher: None,
            terminal,
        })
    }

    /// Marks the command as a launcher: its output and exit count once it has confined itself and
    /// started the real command.
    pub(super) fn with_launcher(mut self, launcher: RunningLauncher) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// Waits until the command is confined, if that is required.
    async fn wait_until_confined(&mut self) -> Result<(), SystemError> {
        self.watch_exit();
        let Some(launcher) = &mut self.launcher else { return Ok(()) };
        let mut state = self.state.subscribe();
        let proof = &mut launcher.proof;
        let proven = tokio::select! {
            biased;
            proof = proof.wait_for(Option::is_some) => match proof.as_deref() {
                Ok(Some(proven)) => *proven,
                _ => Err("its launcher was dropped"),
            },
            _ = state.wait_for(|state| !matches!(state, State::Running { .. })) => {
                Err("the terminal did not start this program")
            }
            () = sleep_until(self.started + LAUNCH_WAIT) => Err("the launcher did not connect in time"),
        };
        proven.map_err(|why| {
            launcher.withdrawn.confinement(why);
            // Keep the failure for the next call.
            launcher.failed.send_replace(Some(Err(why)));
            SystemError::NotConfined(why)
        })
    }

    fn watch_exit(&mut self) {
        if self.waiter.is_none() {
            let watch = watch_exit(self.caller.clone(), self.terminal.id.clone(), self.state.clone());
            self.waiter = Some(tokio::spawn(watch).abort_handle());
        }
    }

    fn is_over(&self) -> bool {
        !matches!(*self.state.borrow(), State::Running { .. })
    }

    /// Waits for the time of the next poll, or the exit.
    async fn wait_for_poll(&mut self) {
        self.watch_exit();
        let mut state = self.state.subscribe();
        tokio::select! {
            // We own the sender, so the channel cannot close while we wait.
            _ = state.wait_for(|state| !matches!(state, State::Running { .. })) => {}
            () = sleep_until(self.next_poll) => {}
        }
    }

    /// Polls the output once. Dropping the future loses nothing: the next poll returns the same
    /// output.
    async fn poll_output(&mut self) {
        let interval = (self.started.elapsed() / 50).clamp(OUTPUT_POLL, OUTPUT_POLL_MAX);
        self.next_poll = Instant::now() + interval;
        let request = acp::TerminalOutputRequest::new(self.caller.session_id(), self.terminal.id.0.clone());
        match self.caller.call("terminal/output", &request).await {
            Ok(answer) => {
                if let Some(Value::String(output)) = answer.get("output") {
                    let truncated = answer.get("truncated") == Some(&Value::Bool(true));
                    let new = self.window.update(output.clone(), truncated);
                    new.into_iter().for_each(|piece| self.queue_output(piece));
                }
                if let Some(status @ Value::Object(_)) = answer.get("exitStatus") {
                    end(&self.state, State::Ended(exit_status(status)));
                }
            }
            Err(CallError::Timeout(..)) => {}
            Err(error) => {
                tracing::warn!(?error, terminal = self.terminal.id.0, "no output from the client's terminal");
                let unwatched = *self.state.borrow() == State::Running { unwatched: true };
                if unwatched || error == CallError::Gone {
                    end(&self.state, State::Lost(error));
                }
            }
        }
    }

    /// Queues output until it is taken; beyond the output limit, only the end is kept.
    fn queue_output(&mut self, piece: Output) {
        let Output::Text(text) = piece else {
            if self.pending.back() != Some(&Output::Gap) {
                self.pending.push_back(Output::Gap);
            }
            return;
        };
        match self.pending.back_mut() {
            Some(Output::Text(last)) => last.push_str(&text),
            _ => self.pending.push_back(Output::Text(text)),
        }
        if let Some(Output::Text(last)) = self.pending.back_mut()
            && last.len() > self.output_limit
        {
            let excess = last.len() - self.output_limit;
            let kept = last.split_off(agent::ceil_char_boundary(last, excess));
            self.pending = VecDeque::from([Output::Gap, Output::Text(kept)]);
        }
    }
}

impl Drop for AcpProcess {
    fn drop(&mut self) {
        if let Some(waiter) = &self.waiter {
            waiter.abort();
        }
    }
}

#[async_trait]
impl Process for AcpProcess {
    fn terminal(&self) -> Option<&TerminalId> {
        Some(&self.terminal.id)
    }

    async fn next_output(&mut self) -> Option<Output> {
        if self.launcher.is_some() && self.wait_until_confined().await.is_err() {
            return None;
        }
        loop {
            if let Some(piece) = self.pending.pop_front() {
                return Some(piece);
            }
            if self.drained {
                return None;
            }
            self.wait_for_poll().await;
            let over = self.is_over();
            self.poll_output().await;
            if over {
                self.drained = true;
                let lost = self.window.end();
                lost.into_iter().for_each(|piece| self.queue_output(piece));
            }
        }
    }

    async fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        if self.launcher.is_some() {
            self.wait_until_confined().await?;
        }
        loop {
            let state = self.state.borrow().clone();
            match state {
                State::Ended(status) => return Ok(status),
                State::Lost(error) => return Err(self.caller.failure("running", &self.program, error)),
                State::Running { .. } => {}
            }
            self.wait_for_poll().await;
            if !self.is_over() {
                self.poll_output().await;
            }
        }
    }

    async fn kill(&mut self) {
        if self.is_over() {
            return;
        }
        let request = acp::KillTerminalRequest::new(self.caller.session_id(), self.terminal.id.0.clone());
        if let Err(error) = self.caller.call_within(KILL_WAIT, "terminal/kill", &request).await {
            tracing::warn!(?error, terminal = self.terminal.id.0, "the client did not kill the command");
        }
        let over = async {
            while !self.is_over() {
                self.wait_for_poll().await;
                self.poll_output().await;
            }
        };
        if timeout(KILL_WAIT, over).await.is_err() {
            // Give up: the release that follows is the client's last opportunity to end the
            // command.
            end(&self.state, State::Ended(ExitStatus::default()));
        }
    }
}

/// Whether a launcher has confined itself, with the reason if it has not; `None` while that is
/// unknown.
type ConfinementProof = Option<Result<(), &'static str>>;

/// A launcher in the client's terminal, from its start to the exit of the command.
pub(super) struct RunningLauncher {
    proof: watch::Receiver<ConfinementProof>,
    failed: Arc<watch::Sender<ConfinementProof>>,
    withdrawn: Arc<WithdrawnCapabilities>,
    /// Whether the command may start. The first of a start and a revocation decides.
    permit: Arc<OnceLock<Permit>>,
    /// Holds the connection to the launcher; closing it ends the command.
    holder: AbortHandle,
}

/// The decision about the start of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Permit {
    Used,
    Revoked,
}

impl RunningLauncher {
    pub(super) fn new(mut launch: Box<dyn ExternalLaunch>, withdrawn: Arc<WithdrawnCapabilities>) -> Self {
        let failed = Arc::new(watch::channel(None).0);
        let (proof, proven) = (failed.subscribe(), Arc::clone(&failed));
        let permit = Arc::new(OnceLock::new());
        let start_permit = Arc::clone(&permit);
        let hold = async move {
            let started = match launch.wait_until_confined().await {
                Ok(()) if *start_permit.get_or_init(|| Permit::Used) == Permit::Used => launch.start().await,
                Ok(()) => Err(SystemError::NotConfined("its start was revoked")),
                Err(error) => Err(error),
            };
            let started = started.map_err(|error| match error {
                SystemError::NotConfined(why) => why,
                _ => "its launcher failed",
            });
            proven.send_if_modified(|proof| proof.is_none() && proof.replace(started).is_none());
            std::future::pending::<()>().await;
        };
        Self { proof, failed, withdrawn, permit, holder: tokio::spawn(hold).abort_handle() }
    }

    /// Keeps the launcher from starting the command from now on. Returns whether the command has
    /// not been started before, whatever the client has answered.
    pub(super) fn revoke(&self) -> bool {
        *self.permit.get_or_init(|| Permit::Revoked) == Permit::Revoked
    }
}

impl Drop for RunningLauncher {
    fn drop(&mut self) {
        self.holder.abort();
    }
}

/// A terminal created by the client. Dropping this releases it, whatever happens to the turn.
struct Terminal {
    caller: Caller,
    id: TerminalId,
    _place: OwnedSemaphorePermit,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The call must display the terminal before it is released.
        self.caller.outbox.flush(&self.caller.session);
        let request = acp::ReleaseTerminalRequest::new(self.caller.session_id(), self.id.0.clone());
        let id = self.id.0.clone();
        let sent = self.caller.send("terminal/release", &request).map(|request| {
            request.on_receiving_result(async move |result| {
                if let Err(error) = result {
                    tracing::warn!(%error, terminal = id, "the client did not release a terminal");
                }
                Ok(())
            })
        });
        if let Ok(Err(error)) = sent {
            tracing::debug!(%error, "the connection is closed; a terminal was not released");
        }
    }
}

/// Creates a terminal. A separate task awaits the response, so that a terminal that is created
/// after the timeout is still released.
async fn create(
    caller: &Caller,
    command: &Command,
    command_line: TerminalCommand,
) -> Result<Terminal, CallError> {
    let place = caller.terminals.clone().try_acquire_owned().map_err(|_| CallError::TooManyTerminals)?;
    let env = command.environment().map(|(name, value)| acp::EnvVariable::new(name, value)).collect();
    let request = acp::CreateTerminalRequest::new(caller.session_id(), command_line.command)
        .env(env)
        .cwd(command.cwd.as_std().to_owned())
        .output_byte_limit(u64::try_from(command.output_limit).ok());
    let mut request =
        serde_json::to_value(request).map_err(|error| CallError::BadAnswer(error.to_string()))?;
    // Sent even if empty: some clients require the list.
    request["args"] = Value::from(command_line.args);
    caller.outbox.flush(&caller.session);
    let request = caller.send("terminal/create", &request)?;
    let (made, making) = oneshot::channel();
    let owner = caller.clone();
    tokio::spawn(async move {
        let terminal = answer(request).await.and_then(|answer| match answer.get("terminalId") {
            Some(Value::String(id)) => {
                Ok(Terminal { caller: owner, id: TerminalId(id.clone()), _place: place })
            }
            _ => Err(CallError::BadAnswer("it returned a terminal without an id".to_owned())),
        });
        drop(made.send(terminal));
    });
    match caller.deadline.of(making).await {
        Some(Ok(terminal)) => terminal,
        Some(Err(_gone)) => Err(CallError::Gone),
        None => Err(CallError::Timeout("terminal/create", caller.deadline.limit)),
    }
}

/// Waits for the exit of the command, without a timeout.
async fn watch_exit(caller: Caller, terminal: TerminalId, state: Arc<watch::Sender<State>>) {
    let request = acp::WaitForTerminalExitRequest::new(caller.session_id(), terminal.0.clone());
    let ended = match caller.send("terminal/wait_for_exit", &request) {
        Ok(request) => answer(request).await,
        Err(error) => Err(error),
    };
    match ended {
        Ok(status) => end(&state, State::Ended(exit_status(&status))),
        Err(CallError::Gone) => end(&state, State::Lost(CallError::Gone)),
        Err(error) => {
            tracing::warn!(
                ?error,
                terminal = terminal.0,
                "the client cannot wait for the command; its exit is polled instead"
            );
            end(&state, State::Running { unwatched: true });
        }
    }
}

/// Leaves the running state, at most once.
fn end(state: &watch::Sender<State>, next: State) {
    state.send_if_modified(|state| {
        let running = matches!(state, State::Running { .. });
        if running {
            *state = next;
        }
        running
    });
}

/// Parses an exit code. A client with a single number type may send an integer as `3.0`.
fn exit_code(code: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |code: f64| (code.fract() == 0.0 && code.abs() <= EXACT).then_some(code as i64);
    code.as_i64().or_else(|| code.as_f64().and_then(whole))
}

/// Parses an exit status: an exit code, a signal's name, or neither, which counts as a failure.
fn exit_status(status: &Value) -> ExitStatus {
    ExitStatus {
        code: status.get("exitCode").and_then(exit_code),
        signal: status
            .get("signal")
            .and_then(Value::as_str)
            .filter(|signal| !signal.is_empty())
            .map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A launcher that confines itself when the test says so.
    struct Launch {
        confined: oneshot::Receiver<()>,
        starts: Arc<std::sync::atomic::AtomicUsize>,
    }

    #[async_trait]
    impl ExternalLaunch for Launch {
        fn program_and_args(&self) -> (&str, &[String]) {
            ("launcher", &[])
        }

        async fn wait_until_confined(&mut self) -> Result<(), SystemError> {
            (&mut self.confined).await.map_err(|_| SystemError::NotConfined("it ended"))
        }

        async fn start(&mut self) -> Result<(), SystemError> {
            self.starts.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }

        async fn terminate(&mut self) {}
    }

    /// A client may start the launcher and then answer that it has no terminals.
    #[tokio::test]
    async fn a_launch_is_started_or_revoked_never_both() {
        for starts_first in [true, false] {
            let starts = Arc::default();
            let (confine, confined) = oneshot::channel();
            let launch = Box::new(Launch { confined, starts: Arc::clone(&starts) });
            let running = RunningLauncher::new(launch, Arc::default());
            let mut proof = running.proof.clone();
            let revoked = match starts_first {
                true => {
                    confine.send(()).unwrap();
                    proof.wait_for(Option::is_some).await.unwrap();
                    running.revoke()
                }
                false => {
                    let revoked = running.revoke();
                    confine.send(()).unwrap();
                    proof.wait_for(Option::is_some).await.unwrap();
                    revoked
                }
            };
            assert_eq!(revoked, !starts_first, "the command runs here only if it did not start there");
            let count = starts.load(std::sync::atomic::Ordering::Relaxed);
            assert_eq!(count, usize::from(starts_first));
        }
    }
}
