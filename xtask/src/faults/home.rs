//! A temporary home directory with a project, and the checks of its state.

use super::kind::Kind;
use super::results::Failure;
use crate::leftovers;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long processes started by the program may take to exit after it was killed.
const GRACE: Duration = Duration::from_secs(2);
/// The variable in the environment of all processes of a story.
const MARK: &str = "TILLER_FAULTS_STORY";
/// An MCP server that records each call in the file named by its argument.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
    case $line in
    *'"method":"initialize"'*)
        reply '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"srv","version":"1"}}' ;;
    *'"method":"tools/list"'*)
        reply '{"tools":[{"name":"act","description":"Acts","inputSchema":{"type":"object","properties":{"number":{"type":"integer"}}}}]}' ;;
    *'"method":"tools/call"'*)
        printf %s "$line" | sed -n 's/.*"number":\([0-9]*\).*/\1\n/p' >>"$1"
        reply '{"content":[{"type":"text","text":"acted"}]}' ;;
    esac
done
"#;

/// The unprivileged user and group of stories that do not run as root.
const NOBODY: u32 = 65_534;

/// The home directory of one story.
pub(super) struct Home {
    directory: TempDir,
    kill_test: String,
    /// The user of the story, if it is not the current one.
    user: Option<u32>,
}

impl Home {
    /// Creates the home directory of a story. If `ordinary`, root runs it as an unprivileged user.
    pub(super) fn make(kill_test: &str, kind: Kind, ordinary: bool) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("tiller-faults-").tempdir()?;
        let superuser = std::fs::metadata(directory.path())?.uid() == 0;
        let user = (superuser && ordinary).then_some(NOBODY);
        let home = Self { directory, kill_test: format!("{}-{kill_test}", std::process::id()), user };
        for directory in ["project", "tmp", "tiller"] {
            std::fs::create_dir(home.path(directory))?;
        }
        let level = if kind == Kind::Unconfined { "off" } else { "workspace-write" };
        std::fs::write(home.path("tiller/config.toml"), format!("[sandbox]\nlevel = \"{level}\"\n"))?;
        std::fs::write(home.path("project/log.txt"), "end\n")?;
        std::fs::write(home.path("server.sh"), SERVER)?;
        std::fs::write(home.path("stderr"), "")?;
        if let Some(user) = user {
            let all = [
                "",
                "project",
                "project/log.txt",
                "tmp",
                "tiller",
                "tiller/config.toml",
                "server.sh",
                "stderr",
            ];
            for path in all {
                chown(home.path(path), Some(user), Some(user))?;
            }
        }
        Ok(home)
    }

    /// Returns a command that runs as the story's user.
    pub(super) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().env(MARK, &self.kill_test);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.path("project")
    }

    /// Returns the program's command as an editor starts it, with `PATH` as the only inherited
    /// variable.
    pub(super) fn program(&self, binary: &Path, base_url: &str, kind: Kind) -> Result<Command> {
        let mode = if kind == Kind::Delegated { "argus" } else { "prometheus" };
        let mut command = self.command(binary);
        command.args(["acp", "--permission-mode", mode]);
        command.env("HOME", self.directory.path()).env("TILLER_HOME", self.path("tiller"));
        command.env("TMPDIR", self.path("tmp"));
        command.env("OPENAI_BASE_URL", base_url).env("OPENAI_API_KEY", "test");
        command.env("TILLER_MODEL", "openai/faults");
        let log = std::fs::File::options().create(true).append(true).open(self.path("stderr"))?;
        command.stderr(log);
        Ok(command)
    }

    /// Returns the last line that the program wrote to standard error.
    pub(super) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(self.path("stderr")).unwrap_or_default();
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
    }

    /// Returns the MCP servers for each session.
    pub(super) fn servers(&self, kind: Kind) -> Value {
        if kind != Kind::Servers {
            return json!([]);
        }
        let env = json!([{ "name": MARK, "value": self.kill_test }]);
        let args = [self.path("server.sh"), self.project().join("acts")];
        json!([{ "name": "srv", "command": "sh", "args": args, "env": env }])
    }

    /// Returns the processes of the story that are still alive after the grace period, and kills
    /// them.
    pub(super) fn orphans(&self) -> Vec<String> {
        let mark = format!("{MARK}={}", self.kill_test);
        let until = Instant::now() + GRACE;
        let mut found = leftovers::found(&mark, self.directory.path());
        while !found.is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
            found = leftovers::found(&mark, self.directory.path());
        }
        let names = found.iter().map(|id| {
            let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned()
        });
        let names = names.collect();
        leftovers::kill(&mark, self.directory.path());
        names
    }

    /// Returns which effects happened twice, and which of those in `done` never happened.
    pub(super) fn effects(&self, kind: Kind, done: &[String]) -> Result<Vec<(Failure, String)>> {
        let mut failures = Vec::new();
        for file_name in kind.record_files() {
            let text = match std::fs::read_to_string(self.project().join(file_name)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
                text => text.with_context(|| (*file_name).to_owned())?,
            };
            let mut counts: HashMap<&str, usize> = HashMap::new();
            text.lines().for_each(|line| *counts.entry(line).or_default() += 1);
            let twice = counts.iter().filter(|(_, count)| **count > 1);
            failures.extend(
                twice.map(|(line, count)| (Failure::DoubleRun, format!("{file_name}: {line} {count} times"))),
            );
            let missing = done.iter().filter(|what| !counts.contains_key(what.as_str()));
            failures
                .extend(missing.map(|what| (Failure::Loss, format!("{file_name}: {what} was never done"))));
        }
        Ok(failures)
    }

    /// Returns the files in the project that no call has created.
    pub(super) fn stray_files(&self, kind: Kind) -> Vec<String> {
        let is_known =
            |name: &str| kind.record_files().contains(&name) || name == "log.txt" || name.starts_with("new-");
        let Ok(entries) = std::fs::read_dir(self.project()) else { return vec!["no project".to_owned()] };
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
        names.filter(|name| !is_known(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_runs_missing_runs_and_stray_files_are_found() {
        let home = Home::make("test", Kind::Local, false).unwrap();
        let write = |name: &str, text: &str| std::fs::write(home.project().join(name), text).unwrap();
        write("ran", "1\n2\n2\n");
        write("log.txt", "1\n2\n3\nend\n");
        write("new-1.txt", "");
        assert_eq!(home.stray_files(Kind::Local), Vec::<String>::new());
        write(".tiller-0.tmp", "");
        assert_eq!(home.stray_files(Kind::Local), [".tiller-0.tmp"]);
        let failures = home.effects(Kind::Local, &["1", "2", "3"].map(str::to_owned)).unwrap();
        let texts: Vec<_> = failures.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["ran: 2 2 times", "ran: 3 was never done"]);
    }

    #[test]
    fn a_marked_process_is_an_orphan_and_is_killed() {
        let home = Home::make("orphan", Kind::Local, false).unwrap();
        let mut child = home.command("sleep").arg("60").spawn().unwrap();
        while leftovers::found(&format!("{MARK}={}", home.kill_test), Path::new("/nonexistent")).is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(home.orphans(), ["sleep 60"]);
        assert!(!child.wait().unwrap().success());
        assert_eq!(home.orphans(), Vec::<String>::new());
    }
}
