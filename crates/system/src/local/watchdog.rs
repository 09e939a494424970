//! A child process that outlives this one for a moment and kills what it left behind.
//!
//! The kernel's own means (PR_SET_PDEATHSIG) needs code between fork and exec, which is `unsafe`;
//! it reaches a single process and not its group; and it fires when the *thread* that started the
//! child exits, which in a thread pool can happen at any time. Instead, a shell waits at the end of
//! a pipe whose other end only this process holds. When this process ends in any way, including
//! SIGKILL, the pipe is closed; the shell then kills the recorded groups and exits.
//!
//! A command starts only after its line has been written, see `start.rs`. The shell reads the pipe
//! to its end before it kills, so it does not matter how late it reads a line.

use rustix::process::Pid;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Maintains the set of groups from `+ PGID` and `- PGID` lines, and kills the remaining ones when
/// the input ends.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
live=' '
while read -r change group; do
    case $change in
        +) live="$live$group " ;;
        -) live="${live%% "$group" *} ${live#* "$group" }" ;;
    esac
done
for group in $live; do kill -s KILL -- "-$group"; done
"#;

/// Reports the live process groups to the shell.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    groups: BTreeSet<i32>,
    shell: Option<Shell>,
}

#[derive(Debug)]
struct Shell {
    child: Child,
    input: ChildStdin,
}

impl Watchdog {
    /// Registers a group. When this returns, the group ends together with this process. Starts a
    /// shell if there is none, or if the current one does not listen. Blocks.
    ///
    /// # Errors
    /// If no shell can be started or notified. The group is not watched then.
    pub(super) fn watch(&self, group: Pid) -> io::Result<()> {
        let (mut state, group) = (self.lock(), group.as_raw_pid());
        let notified = match state.shell {
            Some(_) => state.notify('+', group),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        state.groups.insert(group);
        let notified = notified.or_else(|_| state.start());
        if notified.is_err() {
            state.groups.remove(&group);
        }
        notified
    }

    /// Removes a group. Must be called while its PID is still taken, that is before the leader is
    /// reaped.
    pub(super) fn forget(&self, group: Pid) {
        let mut state = self.lock();
        if state.groups.remove(&group.as_raw_pid())
            && let Err(error) = state.notify('-', group.as_raw_pid())
        {
            tracing::warn!(%error, "the watchdog is gone");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the PID of the shell, for tests.
    #[cfg(test)]
    pub(super) fn shell(&self) -> Option<u32> {
        self.lock().shell.as_ref().map(|shell| shell.child.id())
    }

    /// Closes the shell's input, as the death of this process does.
    #[cfg(test)]
    pub(super) fn close_input(&self) {
        drop(std::mem::take(&mut *self.lock()));
    }
}

impl State {
    /// Starts a shell and reports all groups to it.
    fn start(&mut self) -> io::Result<()> {
        self.shell = Some(Shell::start()?);
        self.groups.clone().into_iter().try_for_each(|group| self.notify('+', group))
    }

    /// Writes a line to the shell. If that fails, the shell is dropped; the next command starts
    /// another one and reports all groups to it.
    fn notify(&mut self, change: char, group: i32) -> io::Result<()> {
        let Some(shell) = &mut self.shell else { return Ok(()) };
        let notified = shell.input.write_all(format!("{change} {group}\n").as_bytes());
        if notified.is_err() {
            self.shell = None;
        }
        notified
    }
}

impl Shell {
    /// Starts the shell in its own process group, so that Ctrl-C in a terminal does not reach it,
    /// and in the root directory, which is never unmounted.
    fn start() -> io::Result<Self> {
        let mut child = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "tiller-watchdog"])
            .current_dir("/")
            .env_clear()
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or_else(|| io::Error::other("the watchdog has no input"))?;
        // A stopped shell must not block this process: writing to a full pipe is an error.
        rustix::io::ioctl_fionbio(&input, true)?;
        Ok(Self { child, input })
    }
}

impl Drop for State {
    /// Closes the shell's input; the shell kills the remaining groups and exits. A separate thread
    /// reaps it, so that this call does not block.
    fn drop(&mut self) {
        let Some(Shell { mut child, input }) = self.shell.take() else { return };
        drop(input);
        let reap = move || child.wait();
        if let Err(error) = std::thread::Builder::new().name("watchdog".to_owned()).spawn(reap) {
            tracing::debug!(%error, "the watchdog is left to be reaped by the system");
        }
    }
}
