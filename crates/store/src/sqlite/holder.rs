//! Who holds a lease, and whether it still lives.

use rustix::process::{Pid, test_kill_process};
use std::fmt;

/// A process that may hold leases.
///
/// The number of a process is used again after its end; together with the moment it started it is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The host's name.
    pub host: String,
    /// The process's id there.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot; 0 where the kernel does not tell.
    pub start: u64,
}

impl Holder {
    /// This process.
    pub fn this_process() -> Self {
        Self::process(std::process::id())
    }

    /// A process of this host. One that does not exist is a holder that is not alive.
    pub fn process(pid: u32) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { host, pid, start: state(pid).map_or(0, |state| state.start) }
    }

    /// Whether the process lives, for a holder on this host.
    pub(super) fn is_alive(&self) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        // Somebody else's process may not be signalled, but it is there.
        if test_kill_process(pid) == Err(rustix::io::Errno::SRCH) {
            return false;
        }
        match state(self.pid) {
            Some(state) => !state.ended && (self.start == 0 || state.start == self.start),
            None => true,
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.pid, self.host)
    }
}

struct State {
    start: u64,
    /// Killed, and only waiting for its parent to notice.
    ended: bool,
}

/// What the kernel tells of a process, where there is a `/proc`.
#[expect(clippy::disallowed_methods, reason = "the kernel's own file, not one of the workspace")]
fn state(pid: u32) -> Option<State> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// `pid (name) state ppid …`: the name may hold spaces and brackets, so the fields count from the last bracket. See proc_pid_stat(5).
fn parse(stat: &str) -> Option<State> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let start = fields.nth(18)?.parse().ok()?;
    Some(State { start, ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_number_and_its_start() {
        let me = Holder::this_process();
        assert!(me.is_alive());
        assert!(!Holder { pid: 0, ..me.clone() }.is_alive());
        assert!(!Holder { pid: i32::MAX as u32, ..me.clone() }.is_alive());
        if me.start != 0 {
            assert!(!Holder { start: me.start + 1, ..me }.is_alive(), "the number was used again");
        }
    }

    #[test]
    fn reads_what_the_kernel_tells() {
        let stat = |state: &str| {
            format!(
                "7 (a) b ( c) {state} 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 10 18446744073709551615"
            )
        };
        assert_eq!(parse(&stat("S")).map(|state| (state.start, state.ended)), Some((4242, false)));
        assert_eq!(parse(&stat("Z")).map(|state| (state.start, state.ended)), Some((4242, true)));
        assert!(parse("").is_none());
        assert!(parse("7 (x) S 1").is_none());
    }
}
