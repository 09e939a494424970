//! The inner stage of the launcher: it confines itself and starts the command. In a namespace for
//! processes it is the first one, which all others end with.

use super::{order::Order, restrict, supervise};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, WaitOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Reads the order from standard input, which leads to the supervisor. What it says to that is a line each.
pub(super) fn run() -> u8 {
    let mut stdin = std::io::stdin().lock();
    let order = match Order::read(&mut stdin) {
        Ok(order) => order,
        Err(error) => return failed(&error.to_string()),
    };
    // A session without a controlling terminal: `/dev/tty` leads nowhere, whoever started this program.
    if let Err(error) = rustix::process::setsid() {
        return failed(&format!("session: {error}"));
    }
    if let Err(problem) = restrict::restrict(&order) {
        return failed(&problem);
    }
    tell("ready");
    if order.confirm {
        let mut word = [0];
        if !matches!(stdin.read(&mut word), Ok(1)) {
            return supervise::FAILED;
        }
    }
    // In case the supervisor ends in a way that leaves it no time.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).ok();
    if is_alone() {
        return supervise::FAILED;
    }
    let mut command = match prepared(&order) {
        Ok(command) => command,
        Err(problem) => return failed(&problem),
    };
    match order.processes {
        true => first_process(&mut command, &order),
        false => failed(&cannot_run(&order, &command.exec())),
    }
}

/// The command, its variables and its standard input.
pub(super) fn prepared(order: &Order) -> Result<Command, String> {
    let (program, args) = order.command.split_first().expect("an order has a command");
    let mut command = Command::new(program);
    command.args(args).current_dir(order.cwd.as_std());
    for name in order.hiding.iter().flat_map(|hiding| hiding.withheld()) {
        command.env_remove(name);
    }
    command.envs(order.env.iter().map(|(name, value)| (name, value)));
    command.stdin(match &order.input {
        None => Stdio::null(),
        Some(input) => in_memory(input).map_err(|error| format!("standard input: {error}"))?,
    });
    Ok(command)
}

fn in_memory(input: &str) -> std::io::Result<Stdio> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = std::fs::File::from(rustix::fs::memfd_create("input", flags)?);
    file.write_all(input.as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

/// Starts the command and reaps until it has ended.
fn first_process(command: &mut Command, order: &Order) -> u8 {
    // The command runs as the same user; it has no business in this process's memory.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable).ok();
    let child = match command.spawn() {
        Ok(child) => rustix::process::Pid::from_child(&child),
        Err(error) => return failed(&cannot_run(order, &error)),
    };
    loop {
        match rustix::io::retry_on_intr(|| rustix::process::wait(WaitOptions::empty())) {
            Ok(Some((pid, status))) if pid == child => {
                if let Some(signal) = status.terminating_signal() {
                    tell(&format!("signal {signal}"));
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

fn cannot_run(order: &Order, error: &std::io::Error) -> String {
    format!("cannot run {}: {error}", order.command[0])
}

/// Whether the supervisor has ended already.
fn is_alone() -> bool {
    let stdin = std::io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0 && fds[0].revents().contains(PollFlags::HUP))
}

/// Says a line to the supervisor. There is nothing to do about one that no longer listens.
fn tell(line: &str) {
    let stdin = std::io::stdin();
    rustix::io::write(stdin.as_fd(), format!("{line}\n").as_bytes()).ok();
}

fn failed(problem: &str) -> u8 {
    supervise::complain(problem);
    supervise::FAILED
}
