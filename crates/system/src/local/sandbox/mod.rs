//! Confines and supervises a command. The launcher, which is this program started again, reads an
//! order from a private pipe or socket. One stage of it confines itself and becomes the command;
//! the other outlives the command and kills what it left behind.
//!
//! A launcher is used and not code between fork and exec: that would be `unsafe`, and could not
//! allocate memory. If the kernel does not support a part of the confinement, this is an error
//! before anything runs; the command never runs with less confinement than requested.

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod descriptor;
#[cfg(target_os = "linux")]
mod devices;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod inner;
mod launch_request;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod own_sockets;
#[cfg(target_os = "linux")]
mod restrict;
mod room;
#[cfg(target_os = "linux")]
mod routes;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod tcp_sockets;
mod variables;
#[cfg(target_os = "linux")]
mod watch;
mod words;
mod worktree;

#[cfg(target_os = "linux")]
use room::Room;
#[cfg(target_os = "linux")]
use words::{INNER, INSIDE, ROOM};

#[cfg(target_os = "linux")]
pub(super) use descriptor::send;
#[cfg(target_os = "linux")]
pub use tcp_sockets::user_of_connection;
pub use variables::is_ordinary_variable;
pub(super) use {
    launch_request::{LaunchCommand, LaunchRequest},
    room::{Joined, RoomRequest, Rooms},
    variables::HiddenVariables,
    words::{START, TERM},
    worktree::{git_directory, repository_above},
};

use crate::{SandboxSupport, SystemError};
use std::process::ExitCode;

/// Returns nothing: this platform has no rooms, to whose servers users connect.
#[cfg(not(target_os = "linux"))]
pub fn user_of_connection(_: std::net::SocketAddr, _: std::net::SocketAddr) -> Option<u32> {
    None
}

/// Runs the launcher. `words` are the arguments that start the launcher, without the program's
/// name; `args` are those that follow them. The request is read from standard input. Must be called
/// before the process has a second thread. Returns when the command has ended, or when an error
/// occurred, which is printed to stderr.
#[cfg(target_os = "linux")]
pub fn run_sandboxed(words: &[&str], args: impl IntoIterator<Item = String>) -> ExitCode {
    use std::os::fd::AsFd;
    ExitCode::from(match args.into_iter().next().as_deref() {
        Some(INNER) => inner::run(),
        Some(ROOM) => room::open::run(),
        Some(INSIDE) => room::inside::run(),
        _ => match std::io::stdin().as_fd().try_clone_to_owned() {
            Ok(control) => supervise::run(control, &inner_arguments(words)),
            Err(_) => supervise::FAILED,
        },
    })
}

/// Returns the arguments that start the inner stage.
#[cfg(target_os = "linux")]
fn inner_arguments(words: &[&str]) -> Vec<String> {
    words.iter().copied().chain([INNER]).map(str::to_owned).collect()
}

/// Runs the launcher in a terminal that another program opened. The request is read from the socket
/// at `path`. `words` are the arguments that start the launcher, as in [`run_sandboxed`].
#[cfg(target_os = "linux")]
pub fn run_in_terminal(words: &[&str], path: &str) -> ExitCode {
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(control) => ExitCode::from(supervise::run(control.into(), &inner_arguments(words))),
        Err(error) => {
            supervise::print_error(&format!("cannot connect to {path}: {error}"));
            ExitCode::from(supervise::FAILED)
        }
    }
}

/// Fails: this platform has no launcher.
#[cfg(not(target_os = "linux"))]
pub(super) fn send(_: impl std::os::fd::AsFd, _: impl std::os::fd::AsFd) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Fails: this platform has no sandbox.
#[cfg(not(target_os = "linux"))]
pub fn run_in_terminal(_: &[&str], _: &str) -> ExitCode {
    ExitCode::FAILURE
}

/// Fails: this platform has no sandbox.
#[cfg(not(target_os = "linux"))]
pub fn run_sandboxed(_: &[&str], _: impl IntoIterator<Item = String>) -> ExitCode {
    ExitCode::FAILURE
}

/// Fails with the reason if a command cannot be confined on this machine.
pub(super) fn expect_support(launcher: &[String], support: SandboxSupport) -> Result<(), SystemError> {
    match launcher.is_empty() {
        true => Err(SystemError::NoSandbox("no launcher is configured")),
        false if !support.applies() => {
            Err(SystemError::NoSandbox("the kernel lacks a recent Landlock or system call filters"))
        }
        false => Ok(()),
    }
}

/// Determines by trial what can be enforced on this machine. Runs the launcher up to four times;
/// blocks for some milliseconds.
#[cfg(target_os = "linux")]
pub(super) fn probe(launcher: &[String]) -> SandboxSupport {
    let landlock_abi = rules::abi();
    let support = SandboxSupport { landlock_abi, ..SandboxSupport::default() };
    let room = match room::open(&RoomRequest::default(), launcher, None) {
        Ok(room) => Some(room),
        Err(problem) => {
            tracing::debug!(problem, "the room of commands cannot be opened");
            None
        }
    };
    for (namespaces, processes) in [(true, true), (true, false), (false, false)] {
        if namespaces && room.is_none() {
            continue;
        }
        match works(launcher, room.as_ref().filter(|_| namespaces), processes) {
            Some(true) => {
                let (launcher, seccomp) = (true, true);
                return SandboxSupport { namespaces, processes, launcher, seccomp, ..support };
            }
            Some(false) => {}
            // The program is not a launcher.
            None => break,
        }
    }
    support
}

/// Returns whether `true` runs in a confinement; `None` if the launcher does not exit in time.
#[cfg(target_os = "linux")]
fn works(launcher: &[String], room: Option<&Room>, processes: bool) -> Option<bool> {
    use crate::limits::{PROBE_POLL, PROBE_WAIT};
    use crate::{AbsPath, Sandbox, SandboxLevel};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::{Command, Stdio};
    use std::time::Instant;
    let (program, args) = launcher.split_first()?;
    let request = LaunchRequest {
        sandbox: Sandbox { level: SandboxLevel::ReadOnly, ..Sandbox::default() },
        joins: room.is_some(),
        processes,
        confirm: false,
        timed: false,
        command: LaunchCommand {
            words: vec!["true".to_owned()],
            cwd: AbsPath::new("/").expect("the root is absolute"),
            env: Vec::new(),
            hidden_variables: None,
            input: None,
            piped: false,
        },
    };
    let Ok((theirs, mut control)) = UnixStream::pair() else { return Some(false) };
    let child = Command::new(program)
        .args(args)
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return Some(false) };
    let written = request.write(&mut control).is_ok();
    let sent = |room: &Room| room.namespaces().iter().all(|namespace| send(&control, namespace).is_ok());
    let written = written && room.is_none_or(sent);
    let began = Instant::now();
    while began.elapsed() < PROBE_WAIT {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(written && status.success());
        }
        std::thread::sleep(PROBE_POLL);
    }
    // Both calls can fail only if the process has exited in the meantime.
    child.kill().ok();
    child.wait().ok();
    None
}

/// Returns no support: nothing can be enforced on this platform.
#[cfg(not(target_os = "linux"))]
pub(super) fn probe(_: &[String]) -> SandboxSupport {
    SandboxSupport::default()
}
