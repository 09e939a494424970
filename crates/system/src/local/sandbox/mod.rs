//! Confining and supervising a command. A launcher, which is this program started again, reads an order
//! from a private pipe; one stage of it confines itself and becomes the command, the other outlives the
//! command and ends what it left behind.
//!
//! A launcher and not code between fork and exec: that would be `unsafe`, and would have to be written
//! without memory allocation. What the kernel cannot do is an error before anything runs, never a command
//! with less confinement than asked for.

#[cfg(target_os = "linux")]
mod aftermath;
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
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod namespaces;
mod order;
#[cfg(target_os = "linux")]
mod restrict;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod supervise;
mod survey;
mod variables;
#[cfg(target_os = "linux")]
mod watch;
mod worktree;

#[cfg(target_os = "linux")]
pub(super) use descriptor::send;
pub(super) use {
    order::Order,
    survey::{Found, Survey, TooMany, secret_files},
    variables::Hiding,
    worktree::git_directory,
};

use crate::{SandboxSupport, SystemError};
use std::process::ExitCode;

/// What the agent's process says to the launcher: end the command (the group gets SIGTERM).
pub(super) const TERM: u8 = b't';

/// The same: start the command now.
pub(super) const START: u8 = b's';

/// What begins the launcher's inner stage, behind the words that begin the launcher.
#[cfg(target_os = "linux")]
const INNER: &str = "inner";

/// The launcher's whole work. `words` are those that begin the launcher, behind the program's name;
/// `args` is what follows them. The order comes over standard input. To be called before there is a
/// second thread; returns when the command has ended, or when it failed, and says why on stderr.
#[cfg(target_os = "linux")]
pub fn run_sandboxed(words: &[&str], args: impl IntoIterator<Item = String>) -> ExitCode {
    use std::os::fd::AsFd;
    ExitCode::from(match args.into_iter().next().as_deref() {
        Some(INNER) => inner::run(),
        _ => match std::io::stdin().as_fd().try_clone_to_owned() {
            Ok(control) => supervise::run(control, &again(words)),
            Err(_) => supervise::FAILED,
        },
    })
}

/// The words that begin the inner stage.
#[cfg(target_os = "linux")]
fn again(words: &[&str]) -> Vec<String> {
    words.iter().copied().chain([INNER]).map(str::to_owned).collect()
}

/// The launcher's work in a terminal that somebody else opened: the order comes over the socket at
/// `path`. `words` begin the launcher, as in [`run_sandboxed`].
#[cfg(target_os = "linux")]
pub fn run_in_terminal(words: &[&str], path: &str) -> ExitCode {
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(control) => ExitCode::from(supervise::run(control.into(), &again(words))),
        Err(error) => {
            supervise::complain(&format!("no command waits at {path}: {error}"));
            ExitCode::from(supervise::FAILED)
        }
    }
}

/// This platform has no launcher that could be sent something.
#[cfg(not(target_os = "linux"))]
pub(super) fn send(_: &std::os::unix::net::UnixStream, _: &std::io::PipeReader) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// This platform has no sandbox.
#[cfg(not(target_os = "linux"))]
pub fn run_in_terminal(_: &[&str], _: &str) -> ExitCode {
    ExitCode::FAILURE
}

/// This platform has no sandbox.
#[cfg(not(target_os = "linux"))]
pub fn run_sandboxed(_: &[&str], _: impl IntoIterator<Item = String>) -> ExitCode {
    ExitCode::FAILURE
}

/// Why a command cannot be confined here, if it cannot.
pub(super) fn expect_support(launcher: &[String], support: SandboxSupport) -> Result<(), SystemError> {
    match launcher.is_empty() {
        true => Err(SystemError::NoSandbox("no launcher is set up")),
        false if !support.applies() => {
            Err(SystemError::NoSandbox("the kernel has no Landlock, or an old one, or no system call filter"))
        }
        false => Ok(()),
    }
}

/// Finds out by trying what is enforced here. Starts a process or two; blocks for some milliseconds.
#[cfg(target_os = "linux")]
pub(super) fn probe(launcher: &[String]) -> SandboxSupport {
    let landlock_abi = rules::abi();
    let support = SandboxSupport { landlock_abi, ..SandboxSupport::default() };
    for (namespaces, processes) in [(true, true), (true, false), (false, false)] {
        match works(launcher, namespaces, processes) {
            Some(true) => {
                let (launcher, seccomp) = (true, true);
                return SandboxSupport { namespaces, processes, launcher, seccomp, ..support };
            }
            Some(false) => {}
            // It is no launcher.
            None => break,
        }
    }
    support
}

/// Whether `true` runs in a confinement; `None` where the launcher does not end.
#[cfg(target_os = "linux")]
fn works(launcher: &[String], namespaces: bool, processes: bool) -> Option<bool> {
    use crate::limits::{PROBE_POLL, PROBE_WAIT};
    use crate::{AbsPath, Sandbox, SandboxLevel};
    use std::process::{Command, Stdio};
    use std::time::Instant;
    let (program, args) = launcher.split_first()?;
    let order = Order {
        sandbox: Sandbox { level: SandboxLevel::ReadOnly, ..Sandbox::default() },
        namespaces,
        processes,
        confirm: false,
        cwd: AbsPath::new("/").expect("the root is absolute"),
        env: Vec::new(),
        hiding: None,
        input: None,
        piped: false,
        command: vec!["true".to_owned()],
    };
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = child else { return Some(false) };
    let mut control = child.stdin.take();
    let written = control.as_mut().is_some_and(|control| order.write(control).is_ok());
    let began = Instant::now();
    while began.elapsed() < PROBE_WAIT {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(written && status.success());
        }
        std::thread::sleep(PROBE_POLL);
    }
    // Both may fail only because it has ended by now.
    child.kill().ok();
    child.wait().ok();
    None
}

/// Nothing is enforced on this platform.
#[cfg(not(target_os = "linux"))]
pub(super) fn probe(_: &[String]) -> SandboxSupport {
    SandboxSupport::default()
}
