//! The one place where the project starts a program.

use super::{
    LocalOptions, blocking,
    group::Group,
    sandbox::{Hiding, Order},
    watchdog::Watchdog,
};
use crate::limits::{EXIT_GRACE, KILL_WAIT, OUTPUT_CHUNK_BYTES, TERM_WAIT};
use crate::output::{Decoder, Ring};
use crate::{Command, ExitStatus, Output, Piped, PipedCommand, Process, SystemError, TerminalId};
use async_trait::async_trait;
use rustix::process::Signal;
use std::io::{self, PipeReader, PipeWriter, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// A process of this machine and the group that it leads.
#[derive(Debug)]
pub(super) struct LocalProcess {
    group: Group,
    stream: Arc<Stream>,
    pump: tokio::task::JoinHandle<()>,
}

/// Starts a command; see [`crate::System::spawn`]. With an order it is the launcher that starts it.
pub(super) async fn spawn(
    command: Command,
    order: Option<Order>,
    watchdog: Arc<Watchdog>,
    options: Arc<LocalOptions>,
) -> Result<LocalProcess, SystemError> {
    let limit = command.output_limit;
    let program = command.program.clone();
    // What is started in there kills itself when the caller no longer waits for it.
    let (group, end, output) = blocking(move || {
        let cwd = &command.cwd;
        let found =
            std::fs::metadata(cwd.as_std()).map_err(|source| SystemError::from_io("enter", cwd, source))?;
        if !found.is_dir() {
            return Err(SystemError::NotFound(cwd.clone()));
        }
        if let Some(order) = order {
            return launch(&command, &order, &options)
                .and_then(|(child, control, output)| {
                    Group::launched(child, control).map(|(group, end)| (group, end, output))
                })
                .map_err(|source| SystemError::Spawn { program: command.program, source });
        }
        watchdog.prepare();
        start(&command, &options)
            .and_then(|(child, output)| {
                Group::adopt(child, watchdog).map(|(group, end)| (group, end, output))
            })
            .map_err(|source| SystemError::Spawn { program: command.program, source })
    })
    .await?;
    let output = pipe::Receiver::from_owned_fd(output.into())
        .map_err(|source| SystemError::Spawn { program, source })?;
    let stream = Arc::new(Stream::new(limit));
    let pump = tokio::spawn(pump(output, end, Arc::clone(&stream)));
    Ok(LocalProcess { group, stream, pump })
}

/// Starts a program that is talked to; see [`crate::System::spawn_piped`].
pub(super) async fn spawn_piped(
    command: PipedCommand,
    watchdog: Arc<Watchdog>,
) -> Result<Piped, SystemError> {
    let limit = command.error_limit;
    let program = command.program.clone();
    let failed = |source| SystemError::Spawn { program: program.clone(), source };
    let (group, end, pipes) = blocking(move || {
        watchdog.prepare();
        start_piped(&command)
            .and_then(|(child, pipes)| Group::adopt(child, watchdog).map(|(group, end)| (group, end, pipes)))
            .map_err(|source| SystemError::Spawn { program: command.program, source })
    })
    .await?;
    let (input, output, errors) = pipes;
    let input = pipe::Sender::from_owned_fd(input.into()).map_err(failed)?;
    let output = pipe::Receiver::from_owned_fd(output.into()).map_err(failed)?;
    let errors = pipe::Receiver::from_owned_fd(errors.into()).map_err(failed)?;
    let stream = Arc::new(Stream::new(limit));
    let pump = tokio::spawn(pump(errors, end, Arc::clone(&stream)));
    let process = LocalProcess { group, stream, pump };
    Ok(Piped { input: Box::new(input), output: Box::new(output), process: Box::new(process) })
}

/// What it gets of this process is the variables that are named, and nothing else.
fn start_piped(command: &PipedCommand) -> io::Result<(Child, (PipeWriter, PipeReader, PipeReader))> {
    let (theirs, input) = io::pipe()?;
    let (output, their_output) = io::pipe()?;
    let (errors, their_errors) = io::pipe()?;
    let inherited = command.inherit.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    let child = std::process::Command::new(&command.program)
        .args(&command.args)
        .current_dir(command.cwd.as_std())
        .env_clear()
        .envs(inherited)
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .process_group(0)
        .stdin(theirs)
        .stdout(their_output)
        .stderr(their_errors)
        .spawn()?;
    Ok((child, (input, output, errors)))
}

/// Both outputs are one pipe, so that their order is that of the writes. The command, which holds the pipe's other end, is
/// dropped here: the pipe ends with the child.
fn start(command: &Command, options: &LocalOptions) -> io::Result<(Child, PipeReader)> {
    let (output, input) = io::pipe()?;
    let mut child = std::process::Command::new(&command.program);
    for name in options.hiding().iter().flat_map(Hiding::withheld) {
        child.env_remove(name);
    }
    let child = child
        .args(&command.args)
        .current_dir(command.cwd.as_std())
        .envs(command.environment())
        .process_group(0)
        .stdin(stdin(command.input.as_deref())?)
        .stdout(input.try_clone()?)
        .stderr(input)
        .spawn()?;
    Ok((child, output))
}

/// Starts the launcher and hands it the order. A launcher whose order never comes starts nothing.
fn launch(
    command: &Command,
    order: &Order,
    options: &LocalOptions,
) -> io::Result<(Child, UnixStream, PipeReader)> {
    // A program that is missing is an error here, not an exit code of the launcher.
    let path = command.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    if !super::programs::is_there(&command.program, &command.cwd, path) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let (output, input) = io::pipe()?;
    let (orders, mut control) = UnixStream::pair()?;
    let (program, args) = options.launcher.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut child = std::process::Command::new(program);
    for name in options.hiding().iter().flat_map(Hiding::withheld) {
        child.env_remove(name);
    }
    let child = child
        .args(args)
        .current_dir("/")
        .envs(command.environment())
        .process_group(0)
        .stdin(OwnedFd::from(orders))
        .stdout(input.try_clone()?)
        .stderr(input)
        .spawn()?;
    // One that has ended already says why in its output.
    order.write(&mut control).ok();
    Ok((child, control, output))
}

/// A file without a name and not a pipe: nobody has to write while the other reads, and nothing is left behind.
fn stdin(input: Option<&str>) -> io::Result<Stdio> {
    let Some(input) = input else { return Ok(Stdio::null()) };
    let mut file = tempfile::tempfile()?;
    file.write_all(input.as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

/// Moves output into the ring until the process has ended and the pipe has too, or the grace is over.
async fn pump(mut output: pipe::Receiver, mut end: oneshot::Receiver<ExitStatus>, stream: Arc<Stream>) {
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; OUTPUT_CHUNK_BYTES];
    let mut open = true;
    let status = loop {
        tokio::select! {
            read = output.read(&mut buffer), if open => open = stream.accept(read, &buffer, &mut decoder),
            status = &mut end => break status.unwrap_or_default(),
        }
    };
    let rest = async {
        while open {
            let read = output.read(&mut buffer).await;
            open = stream.accept(read, &buffer, &mut decoder);
        }
    };
    if timeout(EXIT_GRACE, rest).await.is_err() {
        tracing::debug!("a child that was left behind holds the output open");
    }
    stream.close(decoder.finish(), status);
}

/// What the pump and the process share.
#[derive(Debug)]
struct Stream {
    state: Mutex<State>,
    /// There is one waiter at most, who has the process borrowed; a permit is kept for one who comes later.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    ring: Ring,
    /// The end of the process, once its output is complete.
    end: Option<ExitStatus>,
}

impl Stream {
    fn new(limit: usize) -> Self {
        Self { state: Mutex::new(State { ring: Ring::new(limit), end: None }), changed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what was read; whether more can come.
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

    async fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        Ok(self.stream.end().await)
    }

    async fn kill(&mut self) {
        self.group.terminate();
        // The end of the output is the end of those who could write it; who is still there after that gets SIGKILL.
        timeout(TERM_WAIT, self.stream.end()).await.ok();
        self.group.kill();
        if timeout(KILL_WAIT, self.stream.end()).await.is_err() {
            // A launcher that was stopped does not obey.
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
