//! The measured program in a pseudoterminal of 80 × 24, whose other side this program plays.

use super::child::{cpu, resident};
use anyhow::{Context, Result, bail};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The last of the questions that a program asks its terminal.
const QUESTION: &[u8] = b"\x1b[c";
/// The answers of a present-day terminal: updates can be shown at once (mode 2026), pastes are
/// marked, and it is a VT220 with colours.
const ANSWERS: &[u8] = b"\x1b[?2026;2$y\x1b[?2004;2$y\x1b[?62;22c";
/// How long the program may be silent while something is expected.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program and its terminal.
pub(super) struct Window {
    pub(super) started: Instant,
    /// All bytes that it wrote.
    pub(super) written: Vec<u8>,
    /// The number of reads that these bytes came in; frames, unless several came at once.
    pub(super) pieces_taken: usize,
    child: Child,
    terminal: File,
    pieces: Receiver<(Instant, Vec<u8>)>,
}

impl Window {
    /// Starts a command in a terminal.
    pub(super) fn start(mut command: Command) -> Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        tcsetwinsize(&terminal, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 })?;
        let name = ptsname(&terminal, Vec::new())?;
        let name = Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let inside = File::options().read(true).write(true).open(name)?;
        command.stdin(inside.try_clone()?).stdout(inside.try_clone()?).stderr(inside);
        let started = Instant::now();
        let child = command.spawn().context("the program did not start")?;
        let terminal = File::from(terminal);
        let (mut reader, mut answers) = (terminal.try_clone()?, terminal.try_clone()?);
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(count) = reader.read(&mut bytes) {
                if bytes[..count].windows(QUESTION.len()).any(|part| part == QUESTION)
                    && answers.write_all(ANSWERS).is_err()
                {
                    return;
                }
                if count == 0 || sender.send((Instant::now(), bytes[..count].to_vec())).is_err() {
                    return;
                }
            }
        });
        Ok(Self { started, written: Vec::new(), pieces_taken: 0, child, terminal, pieces })
    }

    /// Sends keys.
    pub(super) fn keys(&mut self, keys: &str) -> Result<Instant> {
        let now = Instant::now();
        self.terminal.write_all(keys.as_bytes())?;
        Ok(now)
    }

    /// Waits until it has written a text after the first `from` bytes; returns when that came.
    pub(super) fn wait_for(&mut self, text: &str, from: usize) -> Result<Instant> {
        let (text, mut from) = (text.as_bytes(), from);
        let mut at = self.started;
        loop {
            if self.written[from..].windows(text.len()).any(|part| part == text) {
                return Ok(at);
            }
            from = from.max(self.written.len().saturating_sub(text.len()));
            match self.pieces.recv_timeout(PATIENCE) {
                Ok((when, piece)) => {
                    at = when;
                    self.take(&piece);
                }
                Err(_) => bail!(
                    "{:?} did not come; the last was {:?}",
                    String::from_utf8_lossy(text),
                    String::from_utf8_lossy(&self.written[self.written.len().saturating_sub(300)..])
                ),
            }
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.written.extend(piece);
        self.pieces_taken += 1;
    }

    /// Takes what it writes for a while.
    pub(super) fn listen(&mut self, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        loop {
            match self.pieces.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((_, piece)) => self.take(&piece),
                Err(RecvTimeoutError::Timeout) => return Ok(()),
                Err(RecvTimeoutError::Disconnected) => bail!("the program has ended"),
            }
        }
    }

    /// Changes the terminal's size; returns when.
    pub(super) fn resize(&mut self, columns: u16, rows: u16) -> Result<Instant> {
        let now = Instant::now();
        tcsetwinsize(&self.terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
        Ok(now)
    }

    /// Waits until the program reads single keys (the terminal is in raw mode); returns when.
    pub(super) fn wait_for_raw_mode(&mut self) -> Result<Instant> {
        let end = self.started + PATIENCE;
        loop {
            let now = Instant::now();
            if !tcgetattr(&self.terminal)?.local_modes.contains(LocalModes::ICANON) {
                return Ok(now);
            }
            if now > end {
                bail!("the program did not take single keys");
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Returns the private memory of the program's own children in KiB: the terminal's watcher.
    pub(super) fn children_private(&self) -> Result<u64> {
        let mut sum = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let children = std::fs::read_to_string(task?.path().join("children"))?;
            for child in children.split_whitespace() {
                let rollup = std::fs::read_to_string(format!("/proc/{child}/smaps_rollup"))?;
                for line in rollup.lines().filter(|line| line.starts_with("Private_")) {
                    let kib = line.split_whitespace().nth(1).context("a size has a number")?;
                    sum += kib.parse::<u64>()?;
                }
            }
        }
        Ok(sum)
    }

    /// Returns the processor time used so far, in steps of 10 ms.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu(&self.file_of_proc("stat")?).context("/proc/PID/stat is not as expected")
    }

    /// Returns the resident memory in KiB.
    pub(super) fn resident(&self) -> Result<u64> {
        resident(&self.file_of_proc("status")?).context("/proc/PID/status is not as expected")
    }

    /// Returns how often its threads went to sleep, which is as often as they were woken.
    pub(super) fn sleeps(&self) -> Result<u64> {
        let mut sum = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let status = std::fs::read_to_string(task?.path().join("status"))?;
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            sum += line.context("the kernel counts no switches")?.trim().parse::<u64>()?;
        }
        Ok(sum)
    }

    fn file_of_proc(&self, name: &str) -> Result<String> {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).context("this needs Linux")
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // It may have exited already; in either case nothing must remain.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
