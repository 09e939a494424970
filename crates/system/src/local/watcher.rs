//! A process of this program that outlives it for a moment, to restore the terminal.

use rustix::fd::OwnedFd;
use std::{
    io::{self, PipeWriter},
    process::{Command, Stdio},
};

/// Starts this program again as the watcher of a terminal: its standard input is the pipe whose
/// other end is returned, its standard output the terminal. It sees the end of the pipe when this
/// process ends in any way. It leaves this process's session by itself and is not waited for by
/// anybody but a thread that reaps it. Writing to the pipe never blocks.
///
/// # Errors
/// If the process cannot be started.
pub fn start_watcher(command: &[String], terminal: OwnedFd) -> io::Result<PipeWriter> {
    let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let (theirs, ours) = io::pipe()?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir("/")
        .env_clear()
        .stdin(theirs)
        .stdout(terminal)
        .stderr(Stdio::null())
        .spawn()?;
    std::thread::Builder::new().name("watcher".to_owned()).spawn(move || child.wait())?;
    Ok(ours)
}
