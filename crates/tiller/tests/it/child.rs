//! Helpers for the program as a child process: signals, unread pipes, exit.

use crate::home::Home;
use std::{
    fs::File,
    io::{ErrorKind, PipeReader, PipeWriter, Write},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

/// A command that writes its process id and runs for minutes.
pub(crate) const LONG: &str = "run sh -c 'echo $$ > pid; exec sleep 300'";

/// Polls until there is a value: there is no other way to observe another process.
pub(crate) fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3000 {
        if let Some(found) = found() {
            return found;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("this never happened: {what}");
}

/// Waits until the command [`LONG`] runs; returns its process id.
pub(crate) fn pid(home: &Home) -> String {
    until("the command starts", || home.read("pid").filter(|text| text.ends_with('\n')));
    sleeper(home)
}

/// Returns the process id of the `sleep` process in a home's project, as seen by the test: a
/// confined
/// command has its own pid namespace.
fn sleeper(home: &Home) -> String {
    until("a process sleeps in the project", || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let sleeps = |entry: &std::fs::DirEntry| {
            let there = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == home.project());
            there && std::fs::read(entry.path().join("comm")).unwrap_or_default() == b"sleep\n"
        };
        entries.into_iter().find(sleeps).map(|entry| entry.file_name().into_string().unwrap())
    })
}

/// Whether a process runs. A zombie that is not reaped yet (its parent is gone too) does not.
pub(crate) fn is_running(pid: &str) -> bool {
    let shown = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8(shown.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// Sends a signal by name.
pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
}

/// Waits until a process has handlers for all of its signals.
pub(crate) fn wait_for_signal_handlers(child: &Child) {
    let path = format!("/proc/{}/status", child.id());
    let caught = || {
        let status = std::fs::read_to_string(&path).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        // SIGHUP, SIGINT, SIGTERM and SIGXFSZ.
        [1, 2, 15, 25].iter().all(|number| mask & (1 << (number - 1)) != 0).then_some(())
    };
    until("the handlers are there", caught);
}

/// Waits for the exit of a process; fails the test after a timeout.
pub(crate) fn end(child: &mut Child) -> ExitStatus {
    for _ in 0..2000 {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("the process does not end");
}

/// Returns a pipe that is full. Keep the reader alive; it must not be read.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    rustix::io::ioctl_fionbio(&writer, true).unwrap();
    for piece in [vec![b'\n'; 4096], vec![b'\n']] {
        while writer.write(&piece).is_ok() {}
    }
    assert_eq!(writer.write(b"\n").unwrap_err().kind(), ErrorKind::WouldBlock);
    rustix::io::ioctl_fionbio(&writer, false).unwrap();
    (reader, writer)
}

/// Returns a pipe without a reader.
pub(crate) fn closed_pipe() -> PipeWriter {
    std::io::pipe().unwrap().1
}

/// Returns an output that fails as a full disk does.
pub(crate) fn full_disk() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}
