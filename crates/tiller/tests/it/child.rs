//! The program as a process among others: signals to it, pipes that nobody reads, its end.

use crate::home::Home;
use std::{
    fs::File,
    io::{ErrorKind, PipeReader, PipeWriter, Write},
    process::{Child, Command, ExitStatus, Stdio},
    time::Duration,
};

/// A command that says who it is and would run for minutes.
pub(crate) const LONG: &str = "run sh -c 'echo $$ > pid; exec sleep 300'";

/// Asks again until there is an answer: of another process nothing can be heard otherwise.
pub(crate) fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    for _ in 0..3000 {
        if let Some(found) = found() {
            return found;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("this never happened: {what}");
}

/// Waits for the command [`LONG`]; the number of its process.
pub(crate) fn pid(home: &Home) -> String {
    until("the command starts", || home.read("pid").filter(|text| text.ends_with('\n')));
    sleeper(home)
}

/// The process that sleeps in a home's project, by the number that it has here: a confined command
/// has numbers of its own.
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

/// Whether a process runs. One that has ended and that nobody has waited for yet (its parent is
/// gone too) does not.
pub(crate) fn lives(pid: &str) -> bool {
    let shown = Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8(shown.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// Sends a signal by its name.
pub(crate) fn signal(child: &Child, name: &str) {
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
}

/// Waits until a process has a handler for SIGTERM, which it takes over last of the three.
pub(crate) fn takes_signals(child: &Child) {
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

/// Waits for the end of a process, and fails the test if it does not come.
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

/// A pipe that is full. Keep the reader: it reads nothing.
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

/// A pipe whose reader has gone.
pub(crate) fn closed_pipe() -> PipeWriter {
    std::io::pipe().unwrap().1
}

/// A disk that is full.
pub(crate) fn full_disk() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}
