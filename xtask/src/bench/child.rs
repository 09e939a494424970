//! The process that is measured: started in a home of its own, watched through `/proc` or, where
//! there is none, `ps`, ended with its owner.

use super::editor::Editor;
use crate::peers::client::Client;
use crate::process::capture;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Linux counts a process's time in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// A running agent with its client.
pub(super) struct Agent {
    pub(super) client: Client<Editor>,
    /// When it was started.
    pub(super) started: Instant,
    child: Child,
    home: Arc<TempDir>,
    binary: PathBuf,
    base_url: String,
}

impl Agent {
    /// Starts `BINARY acp` with a home of its own that was used once before, and nothing of this process's environment but `PATH`.
    pub(super) fn start(binary: &Path, base_url: &str) -> Result<Self> {
        Self::start_with(binary, base_url, "")
    }

    /// The same with settings.
    pub(super) fn start_with(binary: &Path, base_url: &str, settings: &str) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let project = home.path().join("project");
        std::fs::create_dir(&project)?;
        std::fs::write(project.join(super::script::FILE), "one\ntwo\n")?;
        if !settings.is_empty() {
            std::fs::create_dir(home.path().join("tiller"))?;
            std::fs::write(home.path().join("tiller/config.toml"), settings)?;
        }
        // The home of somebody who has used it before: the database is made once in a life, not once a start.
        let mut before = command(binary, home.path(), &["sessions", "list"]);
        before.stdout(Stdio::null()).stderr(Stdio::null());
        before.status().with_context(|| format!("{} did not start", binary.display()))?;
        Self::launch(binary.to_owned(), base_url.to_owned(), Arc::new(home))
    }

    /// Another process over the same home.
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

    /// Runs another command over the same home and returns what it prints.
    pub(super) fn run(&self, args: &[&str]) -> Result<String> {
        let output = command(&self.binary, self.home.path(), args).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            bail!("`{}` ended with {}", args.join(" "), output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Bytes of its database, the write-ahead log included.
    pub(super) fn stored_bytes(&self) -> Result<u64> {
        let files = std::fs::read_dir(self.home.path().join("tiller/data"))?;
        files.map(|file| Ok(file?.metadata()?.len())).sum()
    }

    /// The project's folder.
    pub(super) fn project(&self) -> String {
        self.home.path().join("project").to_string_lossy().into_owned()
    }

    /// The last words it wrote to stderr.
    pub(super) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default();
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
    }

    /// The processor time it has used so far, user and system, in steps of 10 ms; of whole seconds
    /// where `ps` tells no more.
    pub(super) fn cpu(&self) -> Result<Duration> {
        match self.file_of_proc("stat")? {
            Some(stat) => cpu(&stat).context("/proc/PID/stat is not as expected"),
            None => {
                let said = self.ps("time=")?;
                time(said.trim()).with_context(|| format!("`ps` tells no time: {said:?}"))
            }
        }
    }

    /// Its resident memory, in KiB.
    pub(super) fn resident(&self) -> Result<u64> {
        match self.file_of_proc("status")? {
            Some(status) => resident(&status).context("/proc/PID/status is not as expected"),
            None => {
                let said = self.ps("rss=")?;
                said.trim().parse().with_context(|| format!("`ps` tells no size: {said:?}"))
            }
        }
    }

    /// A file of `/proc` about it; `None` where the system has no `/proc`.
    fn file_of_proc(&self, name: &str) -> Result<Option<String>> {
        match Path::new("/proc/self").exists() {
            true => Ok(Some(std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id()))?)),
            false => Ok(None),
        }
    }

    /// One column of `ps` about it.
    fn ps(&self, column: &str) -> Result<String> {
        capture(Command::new("ps").args(["-o", column, "-p", &self.child.id().to_string()]))
            .context("there is neither /proc nor `ps`")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself; either way nothing is left behind.
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

/// Fields 14 and 15 of `stat`. The second field is a name in parentheses that may hold anything.
fn cpu(stat: &str) -> Option<Duration> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u32>().ok()?.checked_add(fields.get(12)?.parse().ok()?)?;
    Some(TICK * ticks)
}

/// The columns `time` of `ps`: `[[DAYS-]HOURS:]MINUTES:SECONDS`, with hundredths on some systems.
fn time(column: &str) -> Option<Duration> {
    let (days, rest) = column.split_once('-').unwrap_or(("0", column));
    let mut seconds = days.parse::<f64>().ok()? * 86_400.0;
    for (place, part) in rest.rsplit(':').enumerate() {
        seconds += part.parse::<f64>().ok()? * 60_f64.powi(i32::try_from(place).ok()?);
    }
    Duration::try_from_secs_f64(seconds).ok()
}

fn resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_name() {
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
    fn a_program_that_fails_leaves_its_last_words() {
        // A shell takes `acp` for the name of a script, and there is none.
        let mut agent = Agent::start(Path::new("/bin/sh"), "http://127.0.0.1:1/v1").unwrap();
        agent.child.wait().unwrap();
        assert!(agent.last_words().contains("acp"), "{}", agent.last_words());
    }
}
