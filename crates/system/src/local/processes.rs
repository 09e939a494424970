//! Processes of this machine: their output, exit status and termination.

use super::{
    blocking::blocking, group::Group, launch::Aftermath, options::LocalOptions, sandbox::Joined, start,
    watchdog::Watchdog,
};
use crate::limits::{CHANGES_GATHERED, CHANGES_SHARE, EXIT_GRACE, KILL_WAIT, OUTPUT_CHUNK_BYTES, TERM_WAIT};
use crate::output::{Decoder, Ring};
use crate::{AbsPath, Command, ExitStatus, Output, Piped, PipedCommand, Process, SystemError, TerminalId};
use async_trait::async_trait;
use rustix::process::Signal;
use std::io::{self, PipeReader};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout};

/// A process of this machine and the group that it leads.
#[derive(Debug)]
pub(super) struct LocalProcess {
    group: Group,
    stream: Arc<Stream>,
    pump: tokio::task::JoinHandle<()>,
    /// The standard input of an interactive command.
    input: Option<pipe::Sender>,
    /// The room that it runs in, which exists at least as long.
    _room: Option<Arc<Joined>>,
}

/// Starts a command; see [`crate::System::spawn`]. With a launch, the launcher starts it.
pub(super) async fn spawn(
    command: Command,
    launch: Option<start::Launch>,
    watchdog: Arc<Watchdog>,
    options: Arc<LocalOptions>,
) -> Result<LocalProcess, SystemError> {
    let limit = command.output_limit;
    let failed = spawn_error(&command.program);
    let room = launch.as_ref().and_then(|launch| launch.room.clone());
    let mut launch = launch;
    let aftermath = launch.as_mut().and_then(|launch| launch.aftermath.take());
    // If the caller drops this future meanwhile, the group in the result is dropped and killed.
    let (group, end, streams) = blocking(move || {
        expect_directory(&command.cwd)?;
        start::command(&command, launch.as_ref(), watchdog, &options).map_err(spawn_error(&command.program))
    })
    .await?;
    let start::Streams { output, input } = streams;
    let input = input.map(|input| pipe::Sender::from_owned_fd(input.into())).transpose().map_err(&failed)?;
    let mut process = LocalProcess::new(group, end, output, limit, aftermath).map_err(&failed)?;
    process.input = input;
    process._room = room;
    Ok(process)
}

/// Starts a program with piped streams; see [`crate::System::spawn_piped`].
pub(super) async fn spawn_piped(
    command: PipedCommand,
    launch: Option<start::Launch>,
    watchdog: Arc<Watchdog>,
    options: Arc<LocalOptions>,
) -> Result<Piped, SystemError> {
    let limit = command.error_limit;
    let failed = spawn_error(&command.program);
    let mut launch = launch;
    let aftermath = launch.as_mut().and_then(|launch| launch.aftermath.take());
    let (group, end, pipes) = blocking(move || {
        expect_directory(&command.cwd)?;
        start::piped(&command, launch.as_ref(), watchdog, &options).map_err(spawn_error(&command.program))
    })
    .await?;
    let start::Pipes { input, output, errors } = pipes;
    let input = pipe::Sender::from_owned_fd(input.into()).map_err(&failed)?;
    let output = pipe::Receiver::from_owned_fd(output.into()).map_err(&failed)?;
    let process = LocalProcess::new(group, end, errors, limit, aftermath).map_err(&failed)?;
    Ok(Piped { input: Box::new(input), output: Box::new(output), process: Box::new(process) })
}

fn spawn_error(program: &str) -> impl Fn(io::Error) -> SystemError + use<> {
    let program = program.to_owned();
    move |source| SystemError::Spawn { program: program.clone(), source }
}

fn expect_directory(cwd: &AbsPath) -> Result<(), SystemError> {
    let found =
        std::fs::metadata(cwd.as_std()).map_err(|source| SystemError::from_io("enter", cwd, source))?;
    if !found.is_dir() {
        return Err(SystemError::NotFound(cwd.clone()));
    }
    Ok(())
}

impl LocalProcess {
    /// Starts to read `output`, the pipe that processes of the group write to, and keeps `limit`
    /// bytes of it.
    fn new(
        group: Group,
        end: oneshot::Receiver<ExitStatus>,
        output: PipeReader,
        limit: usize,
        aftermath: Option<Aftermath>,
    ) -> io::Result<Self> {
        let output = pipe::Receiver::from_owned_fd(output.into())?;
        let stream = Arc::new(Stream::new(limit));
        let pump = tokio::spawn(pump(output, end, Arc::clone(&stream), aftermath));
        Ok(Self { group, stream, pump, input: None, _room: None })
    }
}

/// Copies output into the ring buffer until the process has ended and the pipe is closed, or the
/// grace period is over.
async fn pump(
    mut output: pipe::Receiver,
    mut end: oneshot::Receiver<ExitStatus>,
    stream: Arc<Stream>,
    aftermath: Option<Aftermath>,
) {
    let aftermath = aftermath.map(Arc::new);
    let watching = watch(aftermath.clone(), &stream);
    tokio::pin!(watching);
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; OUTPUT_CHUNK_BYTES];
    let mut open = true;
    let status = loop {
        tokio::select! {
            read = output.read(&mut buffer), if open => open = stream.accept(read, &buffer, &mut decoder),
            status = &mut end => break status.unwrap_or_default(),
            () = &mut watching => {}
        }
    };
    let rest = async {
        while open {
            let read = output.read(&mut buffer).await;
            open = stream.accept(read, &buffer, &mut decoder);
        }
    };
    if timeout(EXIT_GRACE, rest).await.is_err() {
        tracing::debug!("a background child keeps the output open");
    }
    let mut rest = decoder.finish().to_owned();
    if let Some(aftermath) = aftermath {
        rest.push_str(&reported(blocking(move || aftermath.run()).await));
    }
    stream.close(&rest, status);
}

/// Disables what a command leaves that git would execute, as soon as it is there. Never returns.
#[expect(deprecated, reason = "its successor is `unsafe` for types that do not own their descriptor")]
async fn watch(aftermath: Option<Arc<Aftermath>>, stream: &Stream) {
    let changes = aftermath.as_ref().and_then(|aftermath| AsyncFd::new(aftermath.changes()?).ok());
    let (Some(aftermath), Some(changes)) = (aftermath, changes) else { return std::future::pending().await };
    let [shortest, longest] = CHANGES_GATHERED;
    let mut gathered = shortest;
    while let Ok(mut ready) = changes.readable().await {
        // There may be more changes in a moment.
        tokio::time::sleep(gathered).await;
        ready.clear_ready();
        let (aftermath, begun) = (Arc::clone(&aftermath), Instant::now());
        stream.push(&reported(blocking(move || aftermath.disable()).await));
        // A command that changes many files is not slowed down much.
        gathered = (begun.elapsed() * CHANGES_SHARE).clamp(shortest, longest);
    }
    std::future::pending().await
}

/// Returns lines of the sandbox as they appear in the output.
fn reported(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| format!("sandbox: {line}\n")).collect()
}

/// The state shared by the pump task and the process.
#[derive(Debug)]
struct Stream {
    state: Mutex<State>,
    /// There is at most one waiter, because waiting borrows the process mutably. A permit is stored
    /// for a waiter that comes later.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    ring: Ring,
    /// The exit status, set once the output is complete.
    end: Option<ExitStatus>,
}

impl Stream {
    fn new(limit: usize) -> Self {
        Self { state: Mutex::new(State { ring: Ring::new(limit), end: None }), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the result of a read. Returns whether more output can follow.
    fn accept(&self, read: io::Result<usize>, buffer: &[u8], decoder: &mut Decoder) -> bool {
        match read {
            Ok(0) => false,
            Ok(length) => {
                self.lock().ring.push(&decoder.push(&buffer[..length]));
                self.changed.notify_one();
                true
            }
            Err(error) => {
                tracing::debug!(%error, "the output of a process could not be read");
                false
            }
        }
    }

    fn push(&self, text: &str) {
        if !text.is_empty() {
            self.lock().ring.push(text);
            self.changed.notify_one();
        }
    }

    fn close(&self, rest: &str, status: ExitStatus) {
        let mut state = self.lock();
        state.ring.push(rest);
        state.end = Some(status);
        drop(state);
        self.changed.notify_one();
    }

    async fn next(&self) -> Option<Output> {
        loop {
            {
                let mut state = self.lock();
                let output = state.ring.take();
                if output.is_some() || state.end.is_some() {
                    return output;
                }
            }
            self.changed.notified().await;
        }
    }

    async fn end(&self) -> ExitStatus {
        loop {
            if let Some(status) = &self.lock().end {
                return status.clone();
            }
            self.changed.notified().await;
        }
    }
}

#[async_trait]
impl Process for LocalProcess {
    fn terminal(&self) -> Option<&TerminalId> {
        None
    }

    async fn next_output(&mut self) -> Option<Output> {
        self.stream.next().await
    }

    async fn write_input(&mut self, text: &str) -> Result<(), SystemError> {
        let input = self.input.as_mut().ok_or(SystemError::NoInput)?;
        // A write fails if the reader has closed the pipe; that does not change any more.
        input.write_all(text.as_bytes()).await.map_err(|_| SystemError::NoInput)
    }

    async fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        Ok(self.stream.end().await)
    }

    async fn kill(&mut self) {
        self.group.terminate();
        // The output ends when all its writers have exited. Processes that are left after the
        // timeout get SIGKILL.
        timeout(TERM_WAIT, self.stream.end()).await.ok();
        self.group.kill();
        if timeout(KILL_WAIT, self.stream.end()).await.is_err() {
            // A launcher that is stopped (SIGSTOP) does not react to its socket.
            self.group.signal(Signal::KILL);
        }
        if timeout(KILL_WAIT, self.stream.end()).await.is_err() {
            tracing::warn!("a process did not end on SIGKILL");
        }
    }
}

impl Drop for LocalProcess {
    fn drop(&mut self) {
        self.pump.abort();
    }
}
