//! The outer stage of the launcher: starts the command, confined or not, and outlives it. When the
//! command or the agent's process has ended, everything that the command started is killed.
//!
//! The inner stage becomes the command only on request of this stage, which by then has become the
//! subreaper of everything that will be started and detects the end of the agent's process.
//! Therefore, at no moment does the command run without a process that would end it.

use super::{
    descriptor,
    launch_request::LaunchRequest,
    mounts, namespaces,
    variables::HiddenVariables,
    watch::{Seen, Watch},
    words::{GO, START, STOP, TERM},
};
use crate::SandboxLevel;
use crate::limits::DEADLINE_STEP;
use crate::local::aside::Turns;
use crate::local::deadline::Watched;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, wait, waitpid,
};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The exit code of a launcher that could not confine or start the command. `env` and `timeout` use
/// the same code.
pub(super) const FAILED: u8 = 125;

/// Reads a request from the control stream, executes it, and ends with the exit status of the
/// command. The end of the stream means that the agent's process has ended, and ends the command.
/// `inner_arguments` are the arguments that start the inner stage.
pub(super) fn run(control: OwnedFd, inner_arguments: &[String]) -> u8 {
    let mut control = File::from(control);
    let mut request = match LaunchRequest::read(&mut control) {
        Ok(request) => request,
        Err(error) => return failed(&error.to_string()),
    };
    // A name that appears is renamed, which a guard on it would prevent.
    request.sandbox.protected.guarded.retain(|path| std::fs::symlink_metadata(path.as_std()).is_ok());
    let input = match request.command.piped.then(|| descriptor::receive(&control)).transpose() {
        Ok(input) => input,
        Err(error) => return failed(&format!("standard input was not received: {error}")),
    };
    let deadline = match request.timed.then(|| descriptor::receive(&control)).transpose() {
        Ok(memory) => memory.map(Watched::new),
        Err(error) => return failed(&format!("the deadline was not received: {error}")),
    };
    let room = match request.joins.then(|| descriptor::receive_room(&control)).transpose() {
        Ok(room) => room.unwrap_or_default(),
        Err(error) => return failed(&format!("the room was not received: {error}")),
    };
    if let Err(error) = set_child_subreaper(Some(getpid())) {
        return failed(&format!("becoming the parent of orphaned processes: {error}"));
    }
    let protected = &request.sandbox.protected;
    let guarded = protected
        .guarded
        .iter()
        .chain(protected.linked.iter().chain(&protected.folders).map(|file| &file.path));
    let missing = if request.joins { protected.missing.as_slice() } else { &[] };
    // The directory of the turns is not in the room.
    let turns = Turns::open(request.sandbox.view.own().as_ref());
    let guarded = guarded.filter(|_| request.joins);
    let mut watch = match Watch::new(&protected.reserved, guarded, missing, turns) {
        Ok(watch) => watch,
        Err(problem) => return failed(&problem),
    };
    let (child, inner) = match start(&request, &room, inner_arguments, input) {
        Ok(started) => started,
        Err(problem) => return failed(&problem),
    };
    // Close this process's copy of stdout, so that the output ends when the command closes it.
    if let Ok(null) = open_null() {
        rustix::stdio::dup2_stdout(&null).ok();
    }
    let terms = Terms { request: &request, deadline };
    let end = relay(&mut control, child, inner, terms, watch.as_mut());
    kill_descendants();
    if let Some(watch) = &mut watch {
        let appeared = watch.all();
        let lines = watch.rename(appeared, true).into_iter().filter_map(|renamed| renamed.line);
        lines.for_each(|line| print_error(&line));
        watch.take_placed().iter().for_each(|path| mounts::unplace(path));
    }
    match end {
        Ok(end) => {
            report_end(&control, &end);
            match end {
                End::Code(code) => code,
                End::Signal(signal) => end_with_signal(signal),
            }
        }
        Err(error) => failed(&format!("supervising the command: {error}")),
    }
}

/// Reports the exit status of the command, after which nothing more is printed. When this process
/// exits, the kernel takes some ten milliseconds to release the inotify watches; with this report
/// the agent need not wait for that.
fn report_end(control: &File, end: &End) {
    if let Ok(null) = open_null() {
        rustix::stdio::dup2_stderr(&null).ok();
    }
    let line = match end {
        End::Code(code) => format!("code {code}\n"),
        End::Signal(signal) => format!("signal {signal}\n"),
    };
    rustix::io::write(control, line.as_bytes()).ok();
}

/// Reports the processes that the command left running, given their names.
fn report_left(names: &str) {
    let names: Vec<_> = names.split(' ').filter(|name| !name.is_empty()).collect();
    let (what, were) = if names.len() == 1 { ("process", "was") } else { ("processes", "were") };
    if !names.is_empty() {
        let shown = names[..names.len().min(LEFT_SHOWN)].join(", ");
        let count = names.len();
        print_error(&format!(
            "{count} {what} still ran and {were} ended: {shown}. A command in the background keeps its processes."
        ));
    }
}

/// Maximum number of names of processes that are shown.
const LEFT_SHOWN: usize = 8;

fn open_null() -> io::Result<File> {
    File::options().write(true).open("/dev/null")
}

/// Runs a stage that answers over standard input, which is a socket to the agent's process. Returns
/// its exit code.
pub(super) fn stage(answer: impl FnOnce(File) -> Result<(), String>) -> u8 {
    let control = io::stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string());
    match control.and_then(|control| answer(File::from(control))) {
        Ok(()) => 0,
        Err(problem) => failed(&problem),
    }
}

pub(super) fn print_error(problem: &str) {
    // Errors are ignored: stderr is closed.
    let _ = writeln!(io::stderr(), "sandbox: {problem}");
}

fn failed(problem: &str) -> u8 {
    print_error(problem);
    FAILED
}

/// The exit status of the command.
enum End {
    Code(u8),
    Signal(i32),
}

/// Starts the inner stage, which waits for a byte before it becomes the command.
fn start(
    request: &LaunchRequest,
    room: &[OwnedFd],
    inner_arguments: &[String],
    input: Option<OwnedFd>,
) -> Result<(Pid, UnixStream), String> {
    if request.joins {
        namespaces::join(room, request.processes)?;
    }
    let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    let mut inner = Command::new("/proc/self/exe");
    inner.args(inner_arguments).stdin(Stdio::from(OwnedFd::from(theirs)));
    // The command can read the variables of the inner stage.
    for name in request.command.hidden_variables.iter().flat_map(HiddenVariables::withheld) {
        inner.env_remove(name);
    }
    if request.sandbox.level == SandboxLevel::Off {
        // A confined inner stage starts its own session.
        inner.process_group(0);
    }
    let child = inner.spawn();
    let child = child.map_err(|error| format!("cannot start the inner stage: {error}"))?;
    let mut stream = &ours;
    // An inner stage that has exited reports the reason itself.
    let written = request.write(&mut stream);
    if let (Ok(()), Some(input)) = (written, input) {
        descriptor::send(&ours, &input).ok();
    }
    Ok((Pid::from_child(&child), ours))
}

/// On which terms a command runs.
struct Terms<'a> {
    /// The request. The agent's process decides when the command starts if it says so.
    request: &'a LaunchRequest,
    /// When it ends at the latest, whatever the agent's process does.
    deadline: Option<Watched>,
}

/// Relays messages between the agent's process and the inner stage until the command has ended.
fn relay(
    control: &mut File,
    child: Pid,
    inner: UnixStream,
    Terms { request, mut deadline }: Terms<'_>,
    mut watch: Option<&mut Watch>,
) -> io::Result<End> {
    let ended = pidfd_open(child, PidfdFlags::empty())?;
    let mut inner = Some(inner);
    let mut status_lines = String::new();
    let mut is_ready = false;
    let mut listening = true;
    loop {
        // The clock of the deadline counts the time asleep, and that of the wait does not.
        let left = deadline.as_ref().map(|deadline| deadline.left().min(DEADLINE_STEP));
        if left == Some(Duration::ZERO) {
            deadline = None;
            print_error("the command was killed: this node no longer holds the session for certain");
            kill_now(child);
            continue;
        }
        let ready = readable(
            &[
                Some(ended.as_fd()),
                listening.then(|| control.as_fd()),
                inner.as_ref().map(AsFd::as_fd),
                watch.as_ref().map(|watch| watch.fd()),
            ],
            left,
        )?;
        if let Some(watch) = watch.as_mut().filter(|_| ready[3]) {
            let seen = watch.seen();
            if seen.guards_fell || !seen.appeared.is_empty() {
                // Nothing happens between a rename and the mount that follows.
                let stopped = inner
                    .as_ref()
                    .filter(|inner| request.processes && is_ready && stop(inner, &mut status_lines));
                if let Err(problem) = put_back(request, watch, seen) {
                    print_error(&format!("the command was killed: {problem}"));
                    kill_now(child);
                }
                if let Some(mut inner) = stopped {
                    inner.write_all(&[GO]).ok();
                }
            }
        }
        if ready[1] {
            listening = handle_control_message(control, child, inner.as_ref());
        }
        if ready[2] {
            inner = inner.filter(|inner| read_status(inner, &mut status_lines));
        }
        if ready[0] {
            break;
        }
        if !is_ready && status_lines.contains("ready\n") {
            is_ready = true;
            if let Some(watch) = &mut watch {
                // Another command may have created them before this one was watched. What is in
                // their places is of other programs.
                let appeared = watch.all();
                rename(watch, appeared, false).map_err(io::Error::other)?;
            }
            // Do not start the command if the agent's process no longer wants it.
            if request.confirm {
                rustix::io::write(control.as_fd(), b"r").ok();
            } else if listening && let Some(inner) = &mut inner {
                inner.write_all(&[START]).ok();
            }
        }
    }
    while inner.as_ref().is_some_and(|inner| read_status(inner, &mut status_lines)) {}
    if let Some(left) = status_lines.lines().find_map(|line| line.strip_prefix("left ")) {
        report_left(left);
    }
    let status = rustix::io::retry_on_intr(|| waitpid(Some(child), WaitOptions::empty()))?;
    let status = status.map(|(_, status)| status);
    let signal = status_lines.lines().find_map(|line| line.strip_prefix("signal ")?.parse().ok());
    let signal = signal.or_else(|| status?.terminating_signal());
    let code = status.and_then(|status| u8::try_from(status.exit_status()?).ok());
    Ok(signal.map_or(End::Code(code.unwrap_or(FAILED)), End::Signal))
}

/// Stops the processes of the command. Returns whether they were stopped.
fn stop(mut inner: &UnixStream, status_lines: &mut String) -> bool {
    const STOPPED: &str = "stopped\n";
    if inner.write_all(&[STOP]).is_err() {
        return false;
    }
    loop {
        if let Some(at) = status_lines.find(STOPPED) {
            status_lines.replace_range(at..at + STOPPED.len(), "");
            return true;
        }
        if !read_status(inner, status_lines) {
            return false;
        }
    }
}

/// Renames what has appeared, and puts guards back. A directory that commands may change in a copy
/// stays where it is for the command.
fn put_back(request: &LaunchRequest, watch: &mut Watch, seen: Seen) -> Result<(), String> {
    rename(watch, seen.appeared, true)?;
    if seen.guards_fell {
        mounts::guard(&request.sandbox)
            .map_err(|problem| format!("a guard cannot be put back: {problem}"))?;
    }
    match watch.persists() {
        true => Err("it kept creating files that other programs obey automatically".to_owned()),
        false => Ok(()),
    }
}

/// Renames what has appeared. The command finds a directory where it was that it may change in a
/// copy.
fn rename(watch: &mut Watch, appeared: Vec<PathBuf>, merged: bool) -> Result<(), String> {
    for renamed in watch.rename(appeared, merged) {
        match renamed.directory {
            Some((name, used)) => {
                mounts::place(&renamed.path, &name)?;
                watch.place(renamed.path, used);
            }
            None => renamed.line.iter().for_each(|line| print_error(line)),
        }
    }
    Ok(())
}

/// Waits until a descriptor is readable or closed, or the time is over. Returns which ones are.
fn readable(fds: &[Option<BorrowedFd<'_>>; 4], most: Option<Duration>) -> io::Result<[bool; 4]> {
    let mut waiting: Vec<_> = fds.iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    let most = most.and_then(|most| Timespec::try_from(most).ok());
    rustix::io::retry_on_intr(|| poll(&mut waiting, most.as_ref()))?;
    let mut events = waiting.iter().map(|fd| !fd.revents().is_empty());
    Ok(fds.each_ref().map(|fd| fd.is_some() && events.next() == Some(true)))
}

/// Executes a message of the agent's process. Returns whether more can follow.
fn handle_control_message(control: &mut File, child: Pid, inner: Option<&UnixStream>) -> bool {
    let mut word = [0];
    match control.read(&mut word) {
        Ok(1) => {
            if word[0] == TERM {
                // The inner stage does not lead a group before it has started its session.
                kill_process_group(child, Signal::TERM).or_else(|_| kill_process(child, Signal::TERM)).ok();
            } else if word[0] == START
                && let Some(mut inner) = inner
            {
                inner.write_all(&word).ok();
            }
            true
        }
        // The agent's process has ended, or no longer wants the command.
        _ => {
            kill_now(child);
            false
        }
    }
}

fn kill_now(child: Pid) {
    kill_process_group(child, Signal::KILL).ok();
    kill_process(child, Signal::KILL).ok();
}

/// Reads what the inner stage sends. Returns whether more can follow.
fn read_status(mut inner: &UnixStream, status_lines: &mut String) -> bool {
    let mut bytes = [0; 256];
    let Ok(length @ 1..) = inner.read(&mut bytes) else { return false };
    status_lines.push_str(&String::from_utf8_lossy(&bytes[..length]));
    true
}

/// Kills the descendants of the command that were reparented to this process.
fn kill_descendants() {
    loop {
        for child in children() {
            kill_process(child, Signal::KILL).ok();
        }
        match rustix::io::retry_on_intr(|| wait(WaitOptions::empty())) {
            Ok(_) => {}
            Err(_none) => return,
        }
    }
}

fn children() -> Vec<Pid> {
    let own = getpid().as_raw_nonzero();
    let listed = std::fs::read_to_string(format!("/proc/self/task/{own}/children"));
    let pids = listed.unwrap_or_default();
    pids.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

/// Ends this process with the same signal as the command, so that the waiting process sees the same
/// exit status.
fn end_with_signal(signal: i32) -> u8 {
    if let Some(named) = Signal::from_named_raw(signal) {
        let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
        rustix::process::setrlimit(rustix::process::Resource::Core, none).ok();
        // The first SIGSEGV or SIGBUS is caught by the Rust runtime's handler, which resets itself.
        for _ in 0..2 {
            kill_process(getpid(), named).ok();
        }
    }
    // This process ignores the signal.
    u8::try_from(128 + signal).unwrap_or(FAILED)
}
