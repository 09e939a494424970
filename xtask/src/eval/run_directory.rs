//! A temporary directory for one run: a project under git, a home directory, and a neighbouring
//! project that must stay unchanged.

use super::task::Task;
use crate::leftovers;
use crate::process::{capture, command_line};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A variable in the environment of every process of a run; its value is the run's directory.
const MARK: &str = "TILLER_EVAL_RUN";
/// The content of the neighbouring file.
const NEIGHBOUR: &str = "This file belongs to another project.\n";
/// The file with the id of the process that owns the directory.
const OWNER: &str = "owner";
/// How long a check may take.
const CHECK_TIME: Duration = Duration::from_secs(120);
/// The commit's date, fixed so that the history looks the same in each run.
const DATE: &str = "2026-01-05T09:00:00Z";

/// The directory of one run. Dropping it removes it and kills its processes.
pub(super) struct RunDirectory {
    directory: PathBuf,
    /// The project's only commit. The project is also committed to a second repository that the
    /// agent cannot find.
    start: String,
    /// The search path for programs.
    path: String,
}

impl RunDirectory {
    /// Creates the directory `directory`, which must not exist, with the task's project.
    pub(super) fn make(directory: PathBuf, task: &Task, path: &str) -> Result<Self> {
        std::fs::create_dir(&directory).with_context(|| directory.display().to_string())?;
        let mut run_directory = Self { directory, start: String::new(), path: path.to_owned() };
        for name in ["home", "tmp", "neighbour"] {
            std::fs::create_dir(run_directory.directory.join(name))?;
        }
        std::fs::write(run_directory.neighbour(), NEIGHBOUR)?;
        std::fs::write(run_directory.directory.join(OWNER), std::process::id().to_string())?;
        copy(&task.files(), &run_directory.project())?;
        run_directory.commit(true)?;
        run_directory.start = run_directory.commit(false)?;
        Ok(run_directory)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.directory.join("project")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// The file for the agent's standard error.
    pub(super) fn stderr(&self) -> PathBuf {
        self.directory.join("stderr")
    }

    fn neighbour(&self) -> PathBuf {
        self.directory.join("neighbour/notes.txt")
    }

    /// Returns a command that runs in the project, in a process group of its own and without this
    /// process's environment.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().env(MARK, &self.directory);
        command.env("PATH", &self.path).env("HOME", self.home()).env("TMPDIR", self.directory.join("tmp"));
        command.env("LANG", "C.UTF-8").env("USER", "person").stdin(Stdio::null());
        own_group(&mut command);
        command
    }

    /// Runs git on the project, with the project's own repository or with the second one (`aside`).
    fn git(&self, aside: bool, words: &[&str]) -> Result<String> {
        let mut git = self.command("git");
        git.args(["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("GIT_AUTHOR_DATE", DATE).env("GIT_COMMITTER_DATE", DATE);
        if aside {
            git.env("GIT_DIR", self.directory.join("aside")).env("GIT_WORK_TREE", self.project());
        }
        capture(&mut git)
    }

    /// Commits all files; returns the commit's id.
    fn commit(&self, aside: bool) -> Result<String> {
        self.git(aside, &["init", "--quiet", "--initial-branch=main"])?;
        self.git(aside, &["add", "--all"])?;
        self.git(aside, &["commit", "--quiet", "--message", "Start"])?;
        Ok(self.git(aside, &["rev-parse", "HEAD"])?.trim().to_owned())
    }

    /// Returns the changes since the start: paths relative to the project, without ignored files;
    /// `commit` if the history changed, and `../NAME` for changes beside the project.
    pub(super) fn changes(&self) -> Result<Vec<String>> {
        self.git(true, &["add", "--all"])?;
        let names = self.git(true, &["diff", "--cached", "--name-only", "--no-renames", "-z", "HEAD"])?;
        let mut changes: Vec<String> =
            names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        // A deleted history counts as changed too.
        if !self.git(false, &["rev-parse", "HEAD"]).is_ok_and(|head| head.trim() == self.start) {
            changes.push("commit".to_owned());
        }
        if std::fs::read_to_string(self.neighbour()).ok().as_deref() != Some(NEIGHBOUR) {
            changes.push("../neighbour/notes.txt".to_owned());
        }
        let known = ["project", "home", "tmp", "neighbour", "aside", "stderr", "judged", OWNER];
        for entry in std::fs::read_dir(&self.directory)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !known.contains(&name.as_str()) {
                changes.push(format!("../{name}"));
            }
        }
        Ok(changes)
    }

    /// Runs the check's script in a copy of the project with the hidden files added. Returns `None`
    /// on success, else the script's output.
    pub(super) fn judge(&self, task: &Task, script: &str) -> Result<Option<String>> {
        let judged = self.directory.join("judged");
        leftovers::remove(&judged);
        copy(&self.project(), &judged)?;
        if task.hidden().is_dir() {
            copy(&task.hidden(), &judged)?;
        }
        let log = judged.with_file_name("judged.log");
        let mut bash = self.command("bash");
        let file = std::fs::File::create(&log)?;
        bash.current_dir(&judged).args(["-euo", "pipefail", "-c", script]);
        bash.stdout(file.try_clone()?).stderr(file);
        let ended = self.run(&mut bash, CHECK_TIME)?;
        let output = String::from_utf8_lossy(&std::fs::read(&log)?).trim().to_owned();
        std::fs::remove_file(&log)?;
        Ok(match ended {
            Some(true) => None,
            Some(false) => Some(output),
            None => Some(format!("the check took more than {} s", CHECK_TIME.as_secs())),
        })
    }

    /// Runs a program to completion. Returns whether it succeeded, or `None` if it exceeded the
    /// limit.
    fn run(&self, command: &mut Command, limit: Duration) -> Result<Option<bool>> {
        let mut child = command.spawn().with_context(|| command_line(command))?;
        let begun = Instant::now();
        while begun.elapsed() < limit {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status.success()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        leftovers::kill_group(child.id());
        child.wait()?;
        Ok(None)
    }

    /// Kills every process of the run.
    pub(super) fn end_processes(&self) {
        leftovers::kill(&mark(&self.directory), &self.directory);
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        self.end_processes();
        leftovers::remove(&self.directory);
    }
}

/// Removes a run's directory whose owner was killed, with its remaining processes.
///
/// # Errors
///
/// Fails if the owner is still running or unknown.
pub(super) fn clear(directory: &Path) -> Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    let owner = std::fs::read_to_string(directory.join(OWNER)).unwrap_or_default();
    if owner.is_empty() || Path::new("/proc").join(&owner).exists() {
        bail!(
            "{} exists: another evaluation is running; if none is, remove the directory",
            directory.display()
        );
    }
    leftovers::kill(&mark(directory), directory);
    leftovers::remove(directory);
    Ok(())
}

/// Returns the environment entry that marks the processes of a run.
fn mark(directory: &Path) -> String {
    format!("{MARK}={}", directory.display())
}

/// Starts a program in a process group of its own.
pub(super) fn own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Copies a directory's content over another directory, which is created if missing.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    if !to.is_dir() {
        bail!("{} is not a directory", to.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_directory_of_a_dead_process_is_cleared() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("place");
        clear(&place).unwrap();
        std::fs::create_dir(&place).unwrap();
        assert!(clear(&place).is_err(), "its owner is not known");
        std::fs::write(place.join(OWNER), std::process::id().to_string()).unwrap();
        assert!(clear(&place).is_err(), "its process is running");
        let mut gone = Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        std::fs::write(place.join(OWNER), gone.id().to_string()).unwrap();
        clear(&place).unwrap();
        assert!(!place.exists());
    }
}
