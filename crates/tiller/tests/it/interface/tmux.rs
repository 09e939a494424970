//! A real terminal to drive: a tmux server of its own with one window.

use crate::home::Home;
use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

/// How long a test waits for a text. Each test is far quicker; this only ends a hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// A tmux server with one window, in which a shell or a program runs.
pub(super) struct Tmux {
    socket: PathBuf,
    /// A client that tmux reports every output of the window to, so that nothing needs to sleep.
    reporter: Child,
    reports: Receiver<()>,
}

impl Tmux {
    /// Starts a window of 80 × 24 with a shell in the project of `home`; the shell has the
    /// variables, and `tiller` is the program under test. Returns nothing where tmux is not
    /// installed, which `.ci/run` does.
    #[expect(clippy::print_stdout, reason = "a test that is left out must say so")]
    pub(super) fn start(home: &Home, variables: &[(&str, &str)]) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            println!("tmux is not installed: this test of the interface is left out");
            return None;
        }
        let socket = home.path().join("tmux.socket");
        let mut server = Command::new("tmux");
        server.arg("-S").arg(&socket).args(["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24"]);
        server.args(["-s", "t", "exec sh"]).env_clear().current_dir(home.project());
        let mut command = home.tiller(&[]);
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").env("PS1", "$ ").env("SHELL", "/bin/sh");
        command.envs(variables.iter().copied());
        for (name, value) in command.get_envs() {
            server.env(name, value.unwrap());
        }
        let started = server.output().unwrap();
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        let run = |arguments: &[&str]| {
            assert!(tmux(&socket).args(arguments).status().unwrap().success(), "{arguments:?}");
        };
        run(&["set", "-g", "window-size", "manual"]);
        run(&["set", "-g", "history-limit", "20000"]);
        run(&["set", "-g", "default-terminal", "tmux-256color"]);
        run(&["set", "-g", "status", "off"]);
        run(&["resize-window", "-t", "t", "-x", "80", "-y", "24"]);
        let mut reporter = tmux(&socket);
        reporter.args(["-C", "attach-session", "-t", "t"]);
        let mut reporter = reporter.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, reports) = channel();
        let lines = BufReader::new(reporter.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in lines.split(b'\n').map_while(Result::ok) {
                if line.starts_with(b"%") && sender.send(()).is_err() {
                    return;
                }
            }
        });
        let started = Self { socket, reporter, reports };
        started.wait_for("$");
        Some(started)
    }

    /// Types a command line into the shell, once it shows its prompt: what is typed before is
    /// echoed by the terminal, and the prompt follows the echo as it otherwise follows the output.
    pub(super) fn shell(&self, line: &str) {
        self.wait_for_prompt();
        self.text(line);
        self.key("Enter");
    }

    /// Types text, as fast as tmux does it.
    pub(super) fn text(&self, text: &str) {
        self.run(&["send-keys", "-t", "t", "-l", text]);
    }

    /// Presses a key, by tmux's name for it.
    pub(super) fn key(&self, key: &str) {
        self.run(&["send-keys", "-t", "t", key]);
    }

    /// Pastes a text, waits until it is shown, and presses Enter. What is typed this fast counts as
    /// a paste, to which an Enter at once would belong.
    pub(super) fn say(&self, text: &str) {
        self.type_and(text, "Enter");
    }

    /// Like [`Self::say`], with another key in place of Enter.
    pub(super) fn type_and(&self, text: &str, key: &str) {
        self.paste(text);
        self.wait_for(text);
        self.key(key);
    }

    /// Pastes text as it is, in brackets if the program has asked for them.
    pub(super) fn paste(&self, text: &str) {
        self.load(text);
        self.run(&["paste-buffer", "-p", "-r", "-t", "t"]);
    }

    /// Pastes text as a terminal without brackets does: its lines end as Enter ends them.
    pub(super) fn paste_unmarked(&self, text: &str) {
        self.load(text);
        self.run(&["paste-buffer", "-t", "t"]);
    }

    fn load(&self, text: &str) {
        let mut load = tmux(&self.socket);
        let mut load = load.args(["load-buffer", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut load.stdin.take().unwrap(), text.as_bytes()).unwrap();
        assert!(load.wait().unwrap().success());
    }

    /// The socket on which further clients attach.
    pub(super) fn socket(&self) -> &std::path::Path {
        &self.socket
    }

    /// Gives the window another size.
    pub(super) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.run(&["resize-window", "-t", "t", "-x", &columns, "-y", &rows]);
    }

    /// Leaves the interface once no turn runs: while one does, ctrl+d only deletes.
    pub(super) fn quit(&self) {
        self.wait("the end of the turn", |screen| !screen.contains(super::RUNNING));
        self.key("C-d");
        self.wait_for("over=0");
    }

    /// Waits until the shell reads its next line.
    pub(super) fn wait_for_prompt(&self) {
        self.wait("the shell's prompt", |screen| screen.trim_end().ends_with('$'));
    }

    /// Waits until the screen shows a text; returns the screen.
    pub(super) fn wait_for(&self, text: &str) -> String {
        self.wait(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen is as described; returns it.
    pub(super) fn wait(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        self.wait_on(&["capture-pane", "-p", "-t", "t"], what, is_so)
    }

    /// Like [`Self::wait`], for the screen with the sequences of its colours.
    pub(super) fn wait_styled(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        self.wait_on(&["capture-pane", "-p", "-e", "-t", "t"], what, is_so)
    }

    fn wait_on(&self, capture: &[&str], what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.output(capture);
            if is_so(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.reports.recv_timeout(left) {
                // One look serves all reports up to now.
                Ok(()) => self.reports.try_iter().for_each(drop),
                Err(RecvTimeoutError::Timeout) => panic!("{what} is not on the screen:\n{screen}"),
                Err(RecvTimeoutError::Disconnected) => {
                    panic!("tmux has ended while waiting for {what}:\n{screen}")
                }
            }
        }
    }

    /// Returns what the screen shows.
    pub(super) fn screen(&self) -> String {
        self.output(&["capture-pane", "-p", "-t", "t"])
    }

    /// Returns what the screen shows, with the sequences that style it.
    pub(super) fn styled(&self) -> String {
        self.output(&["capture-pane", "-p", "-e", "-t", "t"])
    }

    /// Returns the scrollback and the screen, with lines that the terminal wrapped as one.
    pub(super) fn everything(&self) -> String {
        self.output(&["capture-pane", "-p", "-J", "-S", "-", "-t", "t"])
    }

    /// Returns a property of the window's pane, by tmux's format.
    pub(super) fn property(&self, format: &str) -> String {
        self.output(&["display-message", "-p", "-t", "t", format]).trim().to_owned()
    }

    /// Runs a tmux command.
    pub(super) fn run(&self, arguments: &[&str]) {
        let done = tmux(&self.socket).args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn output(&self, arguments: &[&str]) -> String {
        let done = tmux(&self.socket).args(arguments).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = tmux(&self.socket).arg("kill-server").output();
        let _ = self.reporter.kill();
        let _ = self.reporter.wait();
    }
}

fn tmux(socket: &PathBuf) -> Command {
    let mut command = Command::new("tmux");
    command.arg("-S").arg(socket).stdin(Stdio::null()).env_remove("TMUX");
    command
}
