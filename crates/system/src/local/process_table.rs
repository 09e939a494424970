//! Looks up whether a process exists and when it started, on any Unix.
//!
//! The OS reuses PIDs; a PID together with a start time is unique.

use std::{fs, path::PathBuf, process};

/// The source of process information on this system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessTable {
    /// A directory with the layout of Linux's `/proc`.
    Directory(PathBuf),
    /// A program that is called like POSIX `ps`.
    Program(PathBuf),
}

/// The state of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessState {
    /// A value derived from the start time: constant while the process lives, and different for the
    /// next process with the same PID. Comparable only on one machine and from the same
    /// [`ProcessTable`].
    pub start: u64,
    /// Whether the process has ended and waits to be reaped by its parent.
    pub ended: bool,
}

impl ProcessTable {
    /// Returns the process table of this machine.
    pub fn here() -> Self {
        let directory = Self::Directory("/proc".into());
        if directory.state(process::id()).is_some() { directory } else { Self::Program("/bin/ps".into()) }
    }

    /// Returns the state of a process; `None` if it does not exist or cannot be read. Blocks; with
    /// a program, for a few milliseconds.
    pub fn state(&self, pid: u32) -> Option<ProcessState> {
        match self {
            Self::Directory(directory) => {
                parse_stat(&fs::read_to_string(directory.join(pid.to_string()).join("stat")).ok()?)
            }
            Self::Program(program) => {
                let asked = process::Command::new(program)
                    .args(["-o", "stat=", "-o", "lstart=", "-p", &pid.to_string()])
                    // All processes must see the same text for the same start time.
                    .env_clear()
                    .envs([("LC_ALL", "C"), ("TZ", "UTC0")])
                    .stdin(process::Stdio::null())
                    .output();
                parse_ps(&String::from_utf8(asked.ok()?.stdout).ok()?)
            }
        }
    }
}

/// Parses `pid (name) state ppid …`. The name may contain spaces and parentheses, so the fields are
/// counted from the last `)`. See proc_pid_stat(5).
fn parse_stat(stat: &str) -> Option<ProcessState> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let ended = matches!(fields.next()?, "Z" | "X");
    let start = fields.nth(18)?.parse().ok()?;
    Some(ProcessState { start, ended })
}

/// Parses `Ss+ Mon Nov 23 00:05:54 2026`: the state, and the start time as five words.
fn parse_ps(line: &str) -> Option<ProcessState> {
    let mut words = line.split_whitespace();
    let ended = words.next()?.starts_with(['Z', 'X']);
    let moment: Vec<&str> = words.collect();
    if moment.len() != 5 {
        return None;
    }
    // The start time is only compared, never shown, so its FNV-1a hash is enough.
    let start = moment
        .concat()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Some(ProcessState { start, ended })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_stat_is_parsed() {
        let stat = |state: &str| {
            format!(
                "7 (a) b ( c) {state} 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 10 18446744073709551615"
            )
        };
        assert_eq!(parse_stat(&stat("S")), Some(ProcessState { start: 4242, ended: false }));
        assert_eq!(parse_stat(&stat("Z")), Some(ProcessState { start: 4242, ended: true }));
        assert_eq!(parse_stat(""), None);
        assert_eq!(parse_stat("7 (x) S 1"), None);
    }

    #[test]
    fn ps_output_is_parsed() {
        let state = |line: &str| parse_ps(line).expect("a line of ps");
        let one = state("Ss+  Mon Nov  2 00:05:54 2026    \n");
        assert!(!one.ended && state("Z Mon Nov 2 00:05:54 2026").ended);
        assert_eq!(one.start, state("R  Mon Nov  2 00:05:54 2026").start);
        assert_ne!(one.start, state("Ss+  Mon Nov  2 00:05:55 2026").start);
        assert_eq!([parse_ps(""), parse_ps("S"), parse_ps("S Mon Nov")], [None, None, None]);
    }

    /// Tests every source that this machine has.
    #[test]
    fn live_ended_and_unknown_processes_are_distinguished() {
        let tables = [ProcessTable::Directory("/proc".into()), ProcessTable::Program("/bin/ps".into())];
        for table in tables.iter().filter(|table| table.state(process::id()).is_some()) {
            let me = table.state(process::id());
            assert_eq!(me, table.state(process::id()), "the same each time");
            assert!(!me.expect("it is there").ended);
            let mut child = process::Command::new("true").spawn().expect("a child");
            // Wait until it is a zombie: it has ended, but its parent has not reaped it.
            while table.state(child.id()).is_some_and(|state| !state.ended) {
                std::thread::yield_now();
            }
            assert!(table.state(child.id()).is_some_and(|state| state.ended), "{table:?}");
            child.wait().expect("ended");
            assert_eq!(table.state(child.id()), None, "{table:?}");
            assert_eq!(table.state(u32::MAX), None);
        }
        assert!(ProcessTable::here().state(process::id()).is_some());
        assert_eq!(ProcessTable::Directory("/nowhere".into()).state(process::id()), None);
        assert_eq!(ProcessTable::Program("/nowhere/ps".into()).state(process::id()), None);
    }
}
