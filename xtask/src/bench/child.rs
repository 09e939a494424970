//! The measured process: started in a home directory of its own, observed through `/proc` or else
//! `ps`, and killed when its owner is dropped.

use super::editor::Editor;
use crate::peers::client::Client;
use crate::process::capture;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The unit of processor time in `/proc`: 10 ms.
const TICK: Duration = Duration::from_millis(10);

/// A running agent and its client.
pub(super) struct Agent {
    pub(super) client: Client<Editor>,
    /// The time at which it was started.
    pub(super) started: Instant,
    child: Child,
    home: Arc<TempDir>,
    binary: PathBuf,
    base_url: String,
}

impl Agent {
    /// Starts `BINARY acp` in a home directory that was used once before. Of this process's
    /// environment it inherits `PATH` only.
    pub(super) fn start(binary: &Path, base_url: &str) -> Result<Self> {
        Self::start_with(binary, base_url, "")
    }

    /// Like [`Agent::start`], with the given settings.
    pub(super) fn start_with(binary: &Path, base_url: &str, settings: &str) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let project = home.path().join("project");
        std::fs::create_dir(&project)?;
        std::fs::write(project.join(super::script::FILE), "one\ntwo\n")?;
        if !settings.is_empty() {
            std::fs::create_dir(home.path().join("tiller"))?;
            std::fs::write(home.path().join("tiller/config.toml"), settings)?;
        }
        // Create the database beforehand, since users pay for that once and not at each start.
        let mut before = command(binary, home.path(), &["sessions", "list"]);
        before.stdout(Stdio::null()).stderr(Stdio::null());
        before.status().with_context(|| format!("{} did not start", binary.display()))?;
        Self::launch(binary.to_owned(), base_url.to_owned(), Arc::new(home))
    }

    /// Starts another process with the same home directory.
    pub(super) fn again(&self) -> Result<Self> {
        Self::launch(self.binary.clone(), self.base_url.clone(), Arc::clone(&self.home))
    }

    fn launch(binary: PathBuf, base_url: String, home: Arc<TempDir>) -> Result<Self> {
        let mut command = command(&binary, home.path(), &["acp", "--permission-mode", "prometheus"]);
        command
            .env("OPENAI_BASE_URL", &base_url)
            .env("OPENAI_API_KEY", "test")
            .env("TILLER_MODEL", "openai/bench");
        let log = std::fs::File::create(home.path().join("stderr"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("{} did not start", binary.display()))?;
        let stdout = child.stdout.take().expect("stdout was asked for as a pipe");
        let stdin = child.stdin.take().expect("stdin was asked for as a pipe");
        Ok(Self {
            client: Client::new(stdout, stdin, Editor::default()),
            started,
            child,
            home,
            binary,
            base_url,
        })
    }

    /// Runs another command with the same home directory and returns its output.
    pub(super) fn run(&self, args: &[&str]) -> Result<String> {
        let output = command(&self.binary, self.home.path(), args).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            bail!("`{}` ended with {}", args.join(" "), output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Returns the size of its database in bytes, including the write-ahead log.
    pub(super) fn stored_bytes(&self) -> Result<u64> {
        let files = std::fs::read_dir(self.home.path().join("tiller/data"))?;
        files.map(|file| Ok(file?.metadata()?.len())).sum()
    }

    /// Returns `BINARY` in its project and home directory, with the bench's model, for a terminal.
    pub(super) fn in_terminal(&self, args: &[&str]) -> Command {
        let mut command = command(&self.binary, self.home.path(), args);
        command.env("OPENAI_BASE_URL", &self.base_url).env("OPENAI_API_KEY", "test");
        command.env("TILLER_MODEL", "openai/bench").env("TERM", "xterm-256color").env("LANG", "C.UTF-8");
        command
    }

    /// Returns the project directory.
    pub(super) fn project(&self) -> String {
        self.home.path().join("project").to_string_lossy().into_owned()
    }

    /// Returns the last line that it wrote to standard error.
    pub(super) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default();
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
    }

    /// Returns the processor time used so far, user and system. The resolution is 10 ms, or a
    /// second if only `ps` is available and prints no fractions.
    pub(super) fn cpu(&self) -> Result<Duration> {
        match self.file_of_proc("stat")? {
            Some(stat) => cpu(&stat).context("/proc/PID/stat is not as expected"),
            None => {
                let output = self.ps("time=")?;
                time(output.trim()).with_context(|| format!("`ps` printed no time: {output:?}"))
            }
        }
    }

    /// Returns the resident memory in KiB.
    pub(super) fn resident(&self) -> Result<u64> {
        match self.file_of_proc("status")? {
            Some(status) => resident(&status).context("/proc/PID/status is not as expected"),
            None => {
                let output = self.ps("rss=")?;
                output.trim().parse().with_context(|| format!("`ps` printed no size: {output:?}"))
            }
        }
    }

    /// Reads its file of this name in `/proc`; `None` if the system has no `/proc`.
    fn file_of_proc(&self, name: &str) -> Result<Option<String>> {
        match Path::new("/proc/self").exists() {
            true => Ok(Some(std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id()))?)),
            false => Ok(None),
        }
    }

    /// Returns a column of `ps` for it.
    fn ps(&self, column: &str) -> Result<String> {
        capture(Command::new("ps").args(["-o", column, "-p", &self.child.id().to_string()]))
            .context("there is neither /proc nor `ps`")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have exited already; in either case nothing must remain.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn command(binary: &Path, home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(args).current_dir(home.join("project")).env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("HOME", home).env("TILLER_HOME", home.join("tiller"));
    command
}

/// Sums fields 14 and 15 of `stat`. The second field is a name in parentheses that can contain
/// anything.
pub(super) fn cpu(stat: &str) -> Option<Duration> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u32>().ok()?.checked_add(fields.get(12)?.parse().ok()?)?;
    Some(TICK * ticks)
}

/// Parses the `time` column of `ps`: `[[DAYS-]HOURS:]MINUTES:SECONDS`, with hundredths on some
/// systems.
fn time(column: &str) -> Option<Duration> {
    let (days, rest) = column.split_once('-').unwrap_or(("0", column));
    let mut seconds = days.parse::<f64>().ok()? * 86_400.0;
    for (place, part) in rest.rsplit(':').enumerate() {
        seconds += part.parse::<f64>().ok()? * 60_f64.powi(i32::try_from(place).ok()?);
    }
    Duration::try_from_secs_f64(seconds).ok()
}

pub(super) fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_process_name() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 500 0 3 0 12 5 0 0 20 0 4 0 100 0 0";
        assert_eq!(cpu(stat), Some(Duration::from_millis(170)));
        assert_eq!(cpu("42 (short) S"), None);
    }

    #[test]
    fn processor_time_is_read_as_ps_writes_it() {
        for (column, milliseconds) in
            [("0:01.25", 1_250), ("00:01:02", 62_000), ("1-00:00:01", 86_401_000), ("12:03.00", 723_000)]
        {
            assert_eq!(time(column), Some(Duration::from_millis(milliseconds)), "{column}");
        }
        assert_eq!(time("TIME"), None);
    }

    #[test]
    fn memory_is_read_in_kib() {
        assert_eq!(resident("VmPeak:\t 9 kB\nVmRSS:\t   15360 kB\n"), Some(15360));
        assert_eq!(resident("VmPeak:\t 9 kB\n"), None);
    }

    #[test]
    fn the_error_of_a_failed_program_contains_its_last_stderr_line() {
        // The shell takes `acp` as the path of a script, which does not exist.
        let mut agent = Agent::start(Path::new("/bin/sh"), "http://127.0.0.1:1/v1").unwrap();
        agent.child.wait().unwrap();
        assert!(agent.last_words().contains("acp"), "{}", agent.last_words());
    }
}
