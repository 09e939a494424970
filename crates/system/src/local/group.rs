//! The owner of a process group.

use super::watchdog::Watchdog;
use crate::{ExitStatus, limits::WAIT_STACK_BYTES};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;

/// A process group, from its start to its last signal. Dropping it kills the group.
///
/// The leader is reaped only after the last signal. Until then its PID stays taken, so a signal to
/// the group cannot hit an unrelated process with a reused PID, no matter how long ago the leader
/// exited.
#[derive(Debug)]
pub(super) struct Group {
    id: Pid,
    killer: GroupKiller,
    /// Dropped to let the waiting thread reap the leader.
    release: Option<mpsc::Sender<()>>,
}

/// What ends the group if this process is killed.
#[derive(Debug)]
enum GroupKiller {
    /// A shell that is notified of the group.
    Watchdog(Arc<Watchdog>),
    /// The leader itself, which is a launcher: it obeys commands over this socket, and ends the
    /// group when the socket is closed.
    Launcher(Option<UnixStream>),
}

impl Group {
    /// Takes over a child that leads its own group and waits at a gate to become the command. The
    /// receiver gets the exit status, once. If the watchdog cannot be notified, the child is
    /// killed.
    pub(super) fn adopt(
        mut child: Child,
        watchdog: Arc<Watchdog>,
    ) -> io::Result<(Self, oneshot::Receiver<ExitStatus>)> {
        if let Err(error) = watchdog.watch(Pid::from_child(&child)) {
            child.kill().ok();
            child.wait().ok();
            return Err(io::Error::other(format!(
                "the watchdog that would end it with this process cannot be notified: {error}"
            )));
        }
        Self::with_killer(GroupKiller::Watchdog(watchdog), child, None)
    }

    /// Takes over a launcher, which ends everything it started when `control` is closed.
    pub(super) fn launched(
        child: Child,
        control: UnixStream,
    ) -> io::Result<(Self, oneshot::Receiver<ExitStatus>)> {
        let report = control.try_clone()?;
        Self::with_killer(GroupKiller::Launcher(Some(control)), child, Some(report))
    }

    fn with_killer(
        killer: GroupKiller,
        child: Child,
        report: Option<UnixStream>,
    ) -> io::Result<(Self, oneshot::Receiver<ExitStatus>)> {
        let id = Pid::from_child(&child);
        let (release, released) = mpsc::channel();
        let (ended, end) = oneshot::channel();
        let group = Self { id, killer, release: Some(release) };
        std::thread::Builder::new()
            .name("process".to_owned())
            .stack_size(WAIT_STACK_BYTES)
            .spawn(move || wait_then_reap(child, id, report, ended, &released))?;
        Ok((group, end))
    }

    /// Sends SIGTERM to the group, directly or through the launcher.
    pub(super) fn terminate(&mut self) {
        match &mut self.killer {
            GroupKiller::Watchdog(_) => self.signal(Signal::TERM),
            GroupKiller::Launcher(Some(control)) => drop(control.write_all(&[super::sandbox::TERM])),
            GroupKiller::Launcher(_) => {}
        }
    }

    /// Kills the group, directly or by closing the launcher's socket.
    pub(super) fn kill(&mut self) {
        match &mut self.killer {
            GroupKiller::Watchdog(_) => self.signal(Signal::KILL),
            GroupKiller::Launcher(control) => {
                // The waiting thread still reads from a clone of the socket, so closing this one is
                // not enough.
                if let Some(control) = control.take() {
                    control.shutdown(Shutdown::Write).ok();
                }
            }
        }
    }

    /// Sends a signal to every process in the group.
    pub(super) fn signal(&self, signal: Signal) {
        if let Err(error) = kill_process_group(self.id, signal) {
            tracing::debug!(%error, group = self.id.as_raw_pid(), "a process group could not be signalled");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        if let GroupKiller::Watchdog(watchdog) = &self.killer {
            watchdog.forget(self.id);
        }
        self.release.take();
    }
}

/// Waits for the leader, sends its exit status, and reaps it after the group is dropped.
///
/// This runs in a thread and not in a blocking task: a runtime that shuts down waits for its
/// blocking tasks, and so would wait for the command.
fn wait_then_reap(
    mut child: Child,
    id: Pid,
    report: Option<UnixStream>,
    ended: oneshot::Sender<ExitStatus>,
    released: &mpsc::Receiver<()>,
) {
    let report = report.and_then(read_exit_report);
    let status = report.map_or_else(|| wait_without_reaping(id), Ok).unwrap_or_else(|error| {
        tracing::error!(%error, "the exit status of a process is unknown");
        ExitStatus::default()
    });
    // The receiver is gone if the process was dropped before it ended.
    ended.send(status).ok();
    // Nothing is ever sent: this returns when the sender is dropped.
    released.recv().ok();
    if let Err(error) = child.wait() {
        tracing::debug!(%error, "a process was already reaped");
    }
}

/// Reads the exit status that a launcher reports before it exits itself. `None` if it reports none.
fn read_exit_report(control: UnixStream) -> Option<ExitStatus> {
    let mut report = String::new();
    BufReader::new(control).take(REPORT_BYTES).read_line(&mut report).ok()?;
    // If the launcher was asked to confirm, the byte `r` comes first, once the command is confined.
    let (what, number) = report.trim_start_matches('r').trim_end().split_once(' ')?;
    let number: i32 = number.parse().ok()?;
    match what {
        "code" => Some(ExitStatus { code: Some(number.into()), signal: None }),
        "signal" => Some(ExitStatus { code: None, signal: Some(signal_name(number)) }),
        _ => None,
    }
}

/// More bytes than a launcher ever reports.
const REPORT_BYTES: u64 = 64;

fn wait_without_reaping(id: Pid) -> io::Result<ExitStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let status = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(id), options))?;
    let Some(status) = status else { return Ok(ExitStatus::default()) };
    Ok(ExitStatus {
        code: status.exit_status().map(i64::from),
        signal: status.terminating_signal().map(signal_name),
    })
}

/// Returns the name of a signal; `SIG` and the number if it has no name here.
fn signal_name(number: i32) -> String {
    const NAMES: [(Signal, &str); 17] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ];
    let known = NAMES.iter().find(|(signal, _)| signal.as_raw() == number);
    known.map_or_else(|| format!("SIG{number}"), |(_, name)| (*name).to_owned())
}
