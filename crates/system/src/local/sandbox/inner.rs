//! The inner stage of the launcher. It confines itself if the request requires it, and starts the
//! command when the supervisor requests it. In a PID namespace it is the first process, and all
//! others end with it.

use super::{
    descriptor,
    launch_request::LaunchRequest,
    restrict, supervise,
    words::{GO, STOP},
};
use crate::{Network, SandboxLevel, limits::STOP_WAIT};
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

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
        true => {
            // The supervisor waits for its answers.
            match std::thread::Builder::new().spawn(|| stop_and_go(supervisor)) {
                Ok(_) => first_process(&mut command, &request),
                Err(error) => failed(&format!("a thread of the supervision: {error}")),
            }
        }
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
        Ok(child) => Pid::from_child(&child),
        Err(error) => return failed(&cannot_run(request, &error)),
    };
    loop {
        match rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::empty())) {
            Ok(Some((pid, status))) if pid == child => {
                let left: Vec<_> = running().map(|other| other.name).collect();
                send_status(&format!("left {}", left.join(" ")));
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

/// A process in this PID namespace, other than this one, that has not ended.
struct Other {
    pid: Pid,
    name: String,
    /// The state, as the kernel names it: `T` for a process that is stopped, `D` for one in a call
    /// that is not interrupted.
    state: char,
}

/// Returns the processes that still run.
fn running() -> impl Iterator<Item = Other> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| {
        let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?).filter(|pid| !pid.is_init())?;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        let (before, after) = stat.rsplit_once(')')?;
        let state = after.trim_start().chars().next()?;
        let name = before.split_once('(')?.1;
        // A zombie has ended and waits for this process.
        let name = name.chars().filter(|c| c.is_ascii_graphic()).collect();
        (!['Z', 'X'].contains(&state)).then_some(Other { pid, name, state })
    })
}

/// Stops the processes of the command, and lets them go on, as the supervisor requests it.
fn stop_and_go(mut supervisor: File) {
    let mut stopped = HashSet::new();
    let mut word = [0];
    while let Ok(1) = supervisor.read(&mut word) {
        match word[0] {
            STOP => {
                stop_all(&mut stopped);
                send_status("stopped");
            }
            GO => stopped.drain().for_each(|pid| kill_process(pid, Signal::CONT).unwrap_or_default()),
            _ => {}
        }
    }
}

/// Stops every process that is not stopped, also those that appear meanwhile, and adds them to
/// `stopped`. Gives up on one that the kernel does not stop in time.
fn stop_all(stopped: &mut HashSet<Pid>) {
    let began = Instant::now();
    loop {
        let mut moving = running().filter(|other| !['T', 't'].contains(&other.state)).peekable();
        if moving.peek().is_none() || began.elapsed() > STOP_WAIT {
            return;
        }
        for other in moving {
            if kill_process(other.pid, Signal::STOP).is_ok() {
                stopped.insert(other.pid);
            }
        }
        std::thread::yield_now();
    }
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
