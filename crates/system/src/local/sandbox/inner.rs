//! The inner stage of the launcher. It confines itself if the request requires it, and starts the
//! command when the supervisor requests it. In a PID namespace it is the first process, and all
//! others end with it.

use super::{descriptor, launch_request::LaunchRequest, restrict, supervise};
use crate::{Network, SandboxLevel};
use rustix::process::{Signal, WaitOptions};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Reads the request from standard input, which is a socket to the supervisor, and sends status
/// lines back over it.
pub(super) fn run() -> u8 {
    // Unbuffered, because a descriptor follows the request.
    let mut supervisor = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(stdin) => File::from(stdin),
        Err(error) => return failed(&error.to_string()),
    };
    let request = match LaunchRequest::read(&mut supervisor) {
        Ok(request) => request,
        Err(error) => return failed(&error.to_string()),
    };
    let input = match request.command.piped.then(|| descriptor::receive(&supervisor)).transpose() {
        Ok(input) => input,
        Err(error) => return failed(&format!("standard input was not received: {error}")),
    };
    if request.sandbox.level != SandboxLevel::Off
        && let Err(problem) = confine(&request)
    {
        return failed(&problem);
    }
    // In case the supervisor is killed. It waits for the `ready` line sent below, so it cannot have
    // ended before this takes effect.
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(Signal::KILL)) {
        return failed(&format!("ending with the supervisor: {error}"));
    }
    send_status("ready");
    let mut word = [0];
    if !matches!(supervisor.read(&mut word), Ok(1)) {
        return supervise::FAILED;
    }
    let mut command = match prepared(&request, input) {
        Ok(command) => command,
        Err(problem) => return failed(&problem),
    };
    match request.processes {
        true => first_process(&mut command, &request),
        false => failed(&cannot_run(&request, &command.exec())),
    }
}

fn confine(request: &LaunchRequest) -> Result<(), String> {
    // In a new session without a controlling terminal, `/dev/tty` leads nowhere, regardless of the
    // terminal this program was started in.
    rustix::process::setsid().map_err(|error| format!("session: {error}"))?;
    restrict::restrict(request)
}

/// Builds the command with its variables. Its standard input is `input` if given.
fn prepared(request: &LaunchRequest, input: Option<OwnedFd>) -> Result<Command, String> {
    let (program, args) = request.command.words.split_first().expect("a request has a command");
    let mut command = Command::new(program);
    command.args(args).current_dir(request.command.cwd.as_std());
    for name in
        request.command.hidden_variables.iter().flat_map(|hidden_variables| hidden_variables.withheld())
    {
        command.env_remove(name);
    }
    if request.sandbox.network == Network::Session {
        for name in std::env::vars_os().map(|(name, _)| name).filter(|name| is_proxy(name)) {
            command.env_remove(name);
        }
        let settings = NPM_SETTINGS.into_iter().filter(|(name, _)| std::env::var_os(name).is_none());
        command.envs(settings);
    }
    command.envs(request.command.env.iter().map(|(name, value)| (name, value)));
    command.stdin(match (input, &request.command.input) {
        (Some(pipe), _) => Stdio::from(pipe),
        (None, None) => Stdio::null(),
        (None, Some(input)) => in_memory(input).map_err(|error| format!("standard input: {error}"))?,
    });
    Ok(command)
}

/// Returns whether a variable names a proxy, which commands in a room do not reach.
fn is_proxy(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.to_ascii_lowercase().ends_with("_proxy"))
}

/// Variables by which npm gives up soon after a refusal, not after minutes, and looks for no newer
/// version of itself.
const NPM_SETTINGS: [(&str, &str); 3] = [
    ("npm_config_fetch_retry_mintimeout", "1000"),
    ("npm_config_fetch_retry_maxtimeout", "4000"),
    ("npm_config_update_notifier", "false"),
];

fn in_memory(input: &str) -> std::io::Result<Stdio> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("input", flags)?);
    file.write_all(input.as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

/// Starts the command and reaps children until it has ended.
fn first_process(command: &mut Command, request: &LaunchRequest) -> u8 {
    // The command runs as the same user and must not be able to read this process's memory.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
    let child = match command.spawn() {
        Ok(child) => rustix::process::Pid::from_child(&child),
        Err(error) => return failed(&cannot_run(request, &error)),
    };
    loop {
        match rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::empty())) {
            Ok(Some((pid, status))) if pid == child => {
                send_status(&format!("left {}", running().join(" ")));
                if let Some(signal) = status.terminating_signal() {
                    send_status(&format!("signal {signal}"));
                    return supervise::FAILED;
                }
                let code = status.exit_status().and_then(|code| u8::try_from(code).ok());
                return code.unwrap_or(supervise::FAILED);
            }
            Ok(_) => {}
            Err(error) => return failed(&format!("waiting for the command: {error}")),
        }
    }
}

/// Returns the names of the processes that still run in this PID namespace, other than this one.
fn running() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_other = |name: &str| name != "1" && name.bytes().all(|byte| byte.is_ascii_digit());
    let name = |entry: std::fs::DirEntry| {
        let pid = entry.file_name().into_string().ok().filter(|name| is_other(name))?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (before, after) = stat.rsplit_once(')')?;
        // A zombie has ended and waits for this process.
        let is_running = !after.trim_start().starts_with(['Z', 'X']);
        let name = before.split_once('(')?.1;
        is_running.then(|| name.chars().filter(|c| c.is_ascii_graphic()).collect())
    };
    processes.filter_map(name).collect()
}

fn cannot_run(request: &LaunchRequest, error: &std::io::Error) -> String {
    format!("cannot run {}: {error}", request.command.words[0])
}

/// Sends a line to the supervisor. Errors are ignored: the supervisor is gone then.
fn send_status(line: &str) {
    let stdin = std::io::stdin();
    rustix::io::write(stdin.as_fd(), format!("{line}\n").as_bytes()).ok();
}

fn failed(problem: &str) -> u8 {
    supervise::print_error(problem);
    supervise::FAILED
}
