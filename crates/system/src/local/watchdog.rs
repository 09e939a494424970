//! A child that outlives this process for a moment, and ends what it left behind.
//!
//! The kernel's own means (PR_SET_PDEATHSIG) needs code between fork and exec, which is `unsafe`; it reaches one process
//! and not its group; and it fires when the *thread* that started the child ends, which for a pool of threads is any time.
//! So a shell waits at the end of a pipe that only this process holds. Whatever ends this process, SIGKILL included, closes
//! the pipe; the shell then kills the groups it was told of and is gone itself.
//!
//! A command starts only when its line has been written, see `start.rs`: what is in the pipe is
//! read to its end, so it does not matter when the shell reads it.

use rustix::process::Pid;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Keeps the set of groups from `+ PGID` and `- PGID` lines, and kills those left when the input ends.
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

/// Tells the shell which process groups are alive.
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
    /// A group has come to be, and ends with this process when this has returned. Starts a shell
    /// where there is none, or none that listens. Blocks.
    ///
    /// # Errors
    /// No shell can be started or told. The group is not watched then.
    pub(super) fn watch(&self, group: Pid) -> io::Result<()> {
        let (mut state, group) = (self.lock(), group.as_raw_pid());
        let told = match state.shell {
            Some(_) => state.tell('+', group),
            None => Err(io::ErrorKind::NotConnected.into()),
        };
        state.groups.insert(group);
        let told = told.or_else(|_| state.start());
        if told.is_err() {
            state.groups.remove(&group);
        }
        told
    }

    /// A group is gone. To be called while its number is still taken, that is before its leader is reaped.
    pub(super) fn forget(&self, group: Pid) {
        let mut state = self.lock();
        if state.groups.remove(&group.as_raw_pid())
            && let Err(error) = state.tell('-', group.as_raw_pid())
        {
            tracing::warn!(%error, "the watchdog is gone");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shell's process, for the tests.
    #[cfg(test)]
    pub(super) fn shell(&self) -> Option<u32> {
        self.lock().shell.as_ref().map(|shell| shell.child.id())
    }

    /// Ends the shell's input, as the death of this process does.
    #[cfg(test)]
    pub(super) fn close_input(&self) {
        drop(std::mem::take(&mut *self.lock()));
    }
}

impl State {
    /// Starts a shell and tells it of all groups.
    fn start(&mut self) -> io::Result<()> {
        self.shell = Some(Shell::start()?);
        self.groups.clone().into_iter().try_for_each(|group| self.tell('+', group))
    }

    /// A shell that cannot be told is let go; the next command starts another, which is told of all.
    fn tell(&mut self, change: char, group: i32) -> io::Result<()> {
        let Some(shell) = &mut self.shell else { return Ok(()) };
        let told = shell.input.write_all(format!("{change} {group}\n").as_bytes());
        if told.is_err() {
            self.shell = None;
        }
        told
    }
}

impl Shell {
    /// In a group of its own, so that Ctrl-C in a terminal does not reach it, and in a folder that nobody unmounts.
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
        // A shell that was stopped must not stop us: a full pipe is an error.
        rustix::io::ioctl_fionbio(&input, true)?;
        Ok(Self { child, input })
    }
}

impl Drop for State {
    /// The input ends, the shell kills what is left and ends; it is reaped elsewhere, so that nobody waits for it here.
    fn drop(&mut self) {
        let Some(Shell { mut child, input }) = self.shell.take() else { return };
        drop(input);
        let reap = move || child.wait();
        if let Err(error) = std::thread::Builder::new().name("watchdog".to_owned()).spawn(reap) {
            tracing::debug!(%error, "the watchdog is left to be reaped by the system");
        }
    }
}
