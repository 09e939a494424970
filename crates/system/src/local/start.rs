//! The only place where the project starts programs.
//!
//! Every child first waits, and becomes the program only after the component that would end it
//! knows about it. Therefore, at no moment can killing this process leave the program running.
//!
//! On Linux the child is the launcher, which ends what it started when its socket to this process
//! is closed (see `sandbox/supervise.rs`). Without a launcher it is a shell at a gate: it waits for
//! a line of input, which is written after the watchdog has been notified. If the gate is closed
//! without that line, the shell exits.

#[cfg(target_os = "linux")]
use super::deadline::CommandDeadline;
use super::{
    group::Group,
    launch::Aftermath,
    options::LocalOptions,
    programs,
    sandbox::{HiddenVariables, Joined, LaunchRequest},
    watchdog::Watchdog,
};
use crate::{Command, ExitStatus, PipedCommand};
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The gate of a command. The shell's stdout is the command's stdin (the shell itself writes
/// nothing there), and the shell's stderr is both stdout and stderr of the command. The command and
/// its arguments are the shell's arguments.
const GATE: &str = r#"read -r word && [ "$word" = go ] && exec "$@" <&1 >&2"#;
/// The gate of a program with piped streams and of an interactive command: their input follows the
/// line.
const PIPED_GATE: &str = r#"read -r word && [ "$word" = go ] && exec "$@""#;
/// The line that opens a gate.
const GO: &[u8] = b"go\n";

/// A process group, the receiver of its leader's exit status, and the pipes.
type Started<T> = (Group, oneshot::Receiver<ExitStatus>, T);

/// What the launcher needs to start a command.
pub(super) struct Launch {
    pub(super) request: LaunchRequest,
    /// The room that the command joins.
    pub(super) room: Option<Arc<Joined>>,
    /// What is done when the command has ended.
    pub(super) aftermath: Option<Aftermath>,
}

/// The pipes of a program with piped streams.
pub(super) struct Pipes {
    pub(super) input: PipeWriter,
    pub(super) output: PipeReader,
    pub(super) errors: PipeReader,
}

/// The pipes of a command; `input` only if it is interactive.
pub(super) struct Streams {
    pub(super) output: PipeReader,
    pub(super) input: Option<PipeWriter>,
}

/// Starts a command: through the launcher if there is one, else at a gate. Stdout and stderr
/// are the same pipe, which preserves the order of writes.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if the program does not exist, and any error of starting the
/// process.
pub(super) fn command(
    command: &Command,
    launch: Option<&Launch>,
    watchdog: Arc<Watchdog>,
    options: &LocalOptions,
) -> io::Result<Started<Streams>> {
    let (output, theirs) = io::pipe()?;
    let streams = |input| Streams { output, input };
    let path = own_path(&command.env).or_else(|| std::env::var_os("PATH"));
    expect_program(&command.program, &command.cwd, path)?;
    let prepare = |child: &mut std::process::Command| {
        for name in options.hidden_variables().iter().flat_map(HiddenVariables::withheld) {
            child.env_remove(name);
        }
        child.envs(command.environment());
    };
    if let Some(launch) = launch {
        let mut launcher = launcher(options)?;
        prepare(&mut launcher);
        launcher.stdout(theirs.try_clone()?).stderr(theirs);
        let (their_input, input) = match command.interactive {
            true => io::pipe().map(|(reader, writer)| (Some(reader), Some(writer)))?,
            false => (None, None),
        };
        let (group, end) = start(launcher, launch, their_input)?;
        return Ok((group, end, streams(input)));
    }
    let (reader, gate) = io::pipe()?;
    let line = if command.interactive { PIPED_GATE } else { GATE };
    let mut shell = at_gate(line, &command.program, &command.args);
    prepare(&mut shell);
    shell.current_dir(command.cwd.as_std()).stdin(reader);
    match command.interactive {
        true => shell.stdout(theirs.try_clone()?).stderr(theirs),
        false => shell.stdout(input(command.input.as_deref())?).stderr(theirs),
    };
    let child = shell.spawn()?;
    drop(shell);
    let (group, end) = Group::adopt(child, watchdog)?;
    let gate = open(gate);
    Ok((group, end, streams(command.interactive.then_some(gate))))
}

/// Starts a program with piped streams. It inherits only the named variables from this process.
///
/// # Errors
/// As for [`command`].
pub(super) fn piped(
    command: &PipedCommand,
    launch: Option<&Launch>,
    watchdog: Arc<Watchdog>,
    options: &LocalOptions,
) -> io::Result<Started<Pipes>> {
    let (theirs, input) = io::pipe()?;
    let (output, their_output) = io::pipe()?;
    let (errors, their_errors) = io::pipe()?;
    let inherited: Vec<_> =
        command.inherit.iter().filter_map(|name| Some((name, std::env::var_os(name)?))).collect();
    let path = own_path(&command.env)
        .or_else(|| inherited.iter().find(|(name, _)| *name == "PATH").map(|(_, path)| path.clone()));
    expect_program(&command.program, &command.cwd, path)?;
    let pipes = |input| Pipes { input, output, errors };
    if let Some(launch) = launch {
        let mut launcher = launcher(options)?;
        // The program's own variables are part of the request.
        launcher.env_clear().envs(inherited).stdout(their_output).stderr(their_errors);
        let (group, end) = start(launcher, launch, Some(theirs))?;
        return Ok((group, end, pipes(input)));
    }
    let mut shell = at_gate(PIPED_GATE, &command.program, &command.args);
    shell
        .env_clear()
        .envs(inherited)
        .envs(command.env.iter().map(|(name, value)| (name, value)))
        .current_dir(command.cwd.as_std())
        .stdin(theirs)
        .stdout(their_output)
        .stderr(their_errors);
    let child = shell.spawn()?;
    drop(shell);
    let (group, end) = Group::adopt(child, watchdog)?;
    Ok((group, end, pipes(open(input))))
}

/// Returns the `PATH` that the command's own variables set.
pub(super) fn own_path(env: &[(String, String)]) -> Option<OsString> {
    env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.into())
}

/// Fails if the program does not exist, so that a missing program is a start error and not an exit
/// code of the shell or launcher.
fn expect_program(program: &str, cwd: &crate::AbsPath, path: Option<OsString>) -> io::Result<()> {
    // Without `PATH`, the system uses a default.
    match path.is_none_or(|path| programs::is_there(program, cwd, &path)) {
        true => Ok(()),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Creates a shell that waits for a line and then becomes the program.
fn at_gate(gate: &str, program: &str, args: &[String]) -> std::process::Command {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", gate, "tiller-gate", program]).args(args).process_group(0);
    shell
}

/// Opens the gate. Fails silently if the shell has been killed meanwhile.
fn open(mut gate: PipeWriter) -> PipeWriter {
    gate.write_all(GO).ok();
    gate
}

/// Creates the launcher's process; see [`LocalOptions::launcher`].
fn launcher(options: &LocalOptions) -> io::Result<std::process::Command> {
    let (program, args) = options.launcher.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut launcher = std::process::Command::new(program);
    launcher.args(args).current_dir("/").process_group(0);
    Ok(launcher)
}

/// Starts a launcher and sends it the request, followed by the pipe for standard input if there is
/// one. A launcher that receives no request starts nothing.
fn start(
    mut launcher: std::process::Command,
    Launch { request, room, .. }: &Launch,
    input: Option<PipeReader>,
) -> io::Result<(Group, oneshot::Receiver<ExitStatus>)> {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let (orders, mut control) = UnixStream::pair()?;
    let child = launcher.stdin(OwnedFd::from(orders)).spawn()?;
    // This value holds the other ends of the pipes, which must be closed when the command ends.
    drop(launcher);
    // A launcher that has already exited reports the reason in its output.
    let written = request.write(&mut control);
    if let (Ok(()), Some(input)) = (&written, input) {
        super::sandbox::send(&control, &input).ok();
    }
    #[cfg(target_os = "linux")]
    if let (Ok(()), true, Some(deadline)) = (&written, request.timed, CommandDeadline::installed()) {
        super::sandbox::send(&control, &deadline).ok();
    }
    if written.is_ok() {
        for namespace in room.iter().flat_map(|room| room.namespaces()) {
            super::sandbox::send(&control, namespace).ok();
        }
    }
    Group::launched(child, control)
}

/// Whether commands end at a deadline of this process.
pub(super) fn is_timed() -> bool {
    #[cfg(target_os = "linux")]
    return CommandDeadline::installed().is_some();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Creates the standard input of a command: `/dev/null`, or an unnamed file. Unlike a pipe, a file
/// needs no writer while the command reads, and it leaves nothing behind. Opened for reading and
/// writing, because a shell may require both.
fn input(input: Option<&str>) -> io::Result<Stdio> {
    let Some(input) = input else {
        return Ok(std::fs::File::options().read(true).write(true).open("/dev/null")?.into());
    };
    let mut file = tempfile::tempfile()?;
    file.write_all(input.as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// A test cannot kill this process between the start and the line. The effect on the child is a
    /// gate that is closed without the line.
    #[test]
    fn a_gate_that_stays_closed_starts_nothing() {
        let gates = [GATE, PIPED_GATE];
        let words = [("", false), ("g", false), ("go\n", true)];
        for (gate, (word, runs)) in gates.into_iter().flat_map(|gate| words.map(|word| (gate, word))) {
            let (reader, mut writer) = io::pipe().unwrap();
            let (mut output, theirs) = io::pipe().unwrap();
            let mut shell = at_gate(gate, "echo", &["ran".to_owned()]);
            shell.stdin(reader);
            match gate {
                GATE => shell.stdout(input(None).unwrap()).stderr(theirs),
                _ => shell.stdout(theirs),
            };
            let mut child = shell.spawn().unwrap();
            drop(shell);
            writer.write_all(word.as_bytes()).unwrap();
            drop(writer);
            let mut printed = String::new();
            output.read_to_string(&mut printed).unwrap();
            assert_eq!(printed, if runs { "ran\n" } else { "" }, "{gate} {word:?}");
            assert_eq!(child.wait().unwrap().success(), runs);
        }
    }
}
