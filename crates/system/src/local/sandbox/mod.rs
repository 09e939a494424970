//! Confining a command: this process restricts itself and then becomes the command.
//!
//! A launcher and not code between fork and exec: that would be `unsafe`, and would have to be written without memory allocation.
//! What the kernel cannot do is an error before anything runs, never a command with less confinement than asked for.

#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod restrict;
#[cfg(target_os = "linux")]
mod rules;
mod secrets;

pub(super) use secrets::files as secret_files;

use crate::{Sandbox, SandboxSupport, SystemError};
use std::io::Write;
use std::process::ExitCode;

/// The exit code of a launcher that could not confine or start the command: the one that `env` and `timeout` use.
const FAILED: u8 = 125;

/// A launcher in front of a command.
pub(super) struct Launcher {
    pub(super) program: String,
    pub(super) args: Vec<String>,
}

/// Applies a confinement to this process and becomes the command: the launcher's whole work. `args` are those of
/// [`Sandbox::to_args`] and the command. To be called before there is a second thread; returns when it failed, and says why on stderr.
pub fn run_sandboxed(args: impl IntoIterator<Item = String>) -> ExitCode {
    let problem = match Sandbox::from_args(args) {
        Err(error) => error.to_string(),
        Ok((sandbox, namespaces, command)) => become_command(&sandbox, namespaces, &command),
    };
    // Nothing to do about a stderr that is closed.
    let _ = writeln!(std::io::stderr(), "sandbox: {problem}");
    ExitCode::from(FAILED)
}

/// The launcher for a confinement, or why there is none.
pub(super) fn launcher(
    launcher: &[String],
    sandbox: &Sandbox,
    support: SandboxSupport,
) -> Result<Launcher, SystemError> {
    let Some((program, args)) = launcher.split_first() else {
        return Err(SystemError::NoSandbox("no launcher is set up"));
    };
    if !support.applies() {
        return Err(SystemError::NoSandbox(
            "the kernel has no Landlock, or an old one, or no system call filter",
        ));
    }
    let args = args.iter().cloned().chain(sandbox.to_args(support.namespaces)).collect();
    Ok(Launcher { program: program.clone(), args })
}

#[cfg(target_os = "linux")]
fn become_command(sandbox: &Sandbox, namespaces: bool, command: &[String]) -> String {
    use std::os::unix::process::CommandExt;
    if let Err(problem) = restrict::restrict(sandbox, namespaces) {
        return problem;
    }
    let (program, args) = command.split_first().expect("`from_args` gives a command");
    let error = std::process::Command::new(program).args(args).exec();
    format!("cannot run {program}: {error}")
}

#[cfg(not(target_os = "linux"))]
fn become_command(_: &Sandbox, _: bool, _: &[String]) -> String {
    "this platform has no sandbox".to_owned()
}

/// Finds out by trying what is enforced here. Starts a process or two; blocks for some milliseconds.
#[cfg(target_os = "linux")]
pub(super) fn probe(launcher: &[String]) -> SandboxSupport {
    let landlock_abi = rules::abi();
    let mut support = SandboxSupport { landlock_abi, ..SandboxSupport::default() };
    let tries = |namespaces: bool| {
        let Some((program, args)) = launcher.split_first() else { return false };
        let sandbox = Sandbox { level: crate::SandboxLevel::ReadOnly, ..Sandbox::default() };
        let status = std::process::Command::new(program)
            .args(args)
            .args(sandbox.to_args(namespaces))
            .arg("true")
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    support.namespaces = tries(true);
    support.launcher = support.namespaces || tries(false);
    support.seccomp = support.launcher;
    support
}

/// Nothing is enforced on this platform.
#[cfg(not(target_os = "linux"))]
pub(super) fn probe(_: &[String]) -> SandboxSupport {
    SandboxSupport::default()
}
