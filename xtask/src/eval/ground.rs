//! A throw-away folder for one run: a project under git, a home, and a neighbouring project that
//! must stay as it is.

use super::task::Task;
use crate::leftovers;
use crate::process::{capture, shown};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that every process of a run carries; its value is the run's folder.
const MARK: &str = "TILLER_EVAL_RUN";
/// What stands beside the project.
const NEIGHBOUR: &str = "This file belongs to another project.\n";
/// Holds the id of the process whose place it is.
const OWNER: &str = "owner";
/// How long a check may take.
const CHECK_TIME: Duration = Duration::from_secs(120);
/// The commit's date: the history that an agent is shown must not differ from run to run.
const DATE: &str = "2026-01-05T09:00:00Z";

/// The place of one run; removed, with the processes in it, when it is dropped.
pub(super) struct Ground {
    folder: PathBuf,
    /// The project's one commit. The same project is committed aside as well, where the agent does
    /// not find it.
    start: String,
    /// Where programs are looked for.
    path: String,
}

impl Ground {
    /// Makes the place at `folder`, which must not exist, with the task's project in it.
    pub(super) fn make(folder: PathBuf, task: &Task, path: &str) -> Result<Self> {
        std::fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut ground = Self { folder, start: String::new(), path: path.to_owned() };
        for name in ["home", "tmp", "neighbour"] {
            std::fs::create_dir(ground.folder.join(name))?;
        }
        std::fs::write(ground.neighbour(), NEIGHBOUR)?;
        std::fs::write(ground.folder.join(OWNER), std::process::id().to_string())?;
        copy(&task.files(), &ground.project())?;
        ground.commit(true)?;
        ground.start = ground.commit(false)?;
        Ok(ground)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Where the agent's standard error goes.
    pub(super) fn stderr(&self) -> PathBuf {
        self.folder.join("stderr")
    }

    fn neighbour(&self) -> PathBuf {
        self.folder.join("neighbour/notes.txt")
    }

    /// A program in the project, in a process group of its own, with nothing of this process's
    /// environment.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).env_clear().env(MARK, &self.folder);
        command.env("PATH", &self.path).env("HOME", self.home()).env("TMPDIR", self.folder.join("tmp"));
        command.env("LANG", "C.UTF-8").env("USER", "person").stdin(Stdio::null());
        own_group(&mut command);
        command
    }

    /// Runs git on the project, with the project's own history or with the one aside.
    fn git(&self, aside: bool, words: &[&str]) -> Result<String> {
        let mut git = self.command("git");
        git.args(["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]).args(words);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("GIT_AUTHOR_DATE", DATE).env("GIT_COMMITTER_DATE", DATE);
        if aside {
            git.env("GIT_DIR", self.folder.join("aside")).env("GIT_WORK_TREE", self.project());
        }
        capture(&mut git)
    }

    /// Commits all that is there; the commit's id.
    fn commit(&self, aside: bool) -> Result<String> {
        self.git(aside, &["init", "--quiet", "--initial-branch=main"])?;
        self.git(aside, &["add", "--all"])?;
        self.git(aside, &["commit", "--quiet", "--message", "Start"])?;
        Ok(self.git(aside, &["rev-parse", "HEAD"])?.trim().to_owned())
    }

    /// What is different from the start: paths from the project's root, those that git ignores left
    /// out; `commit` where the history moved, `../NAME` for what stands beside the project.
    pub(super) fn changes(&self) -> Result<Vec<String>> {
        self.git(true, &["add", "--all"])?;
        let names = self.git(true, &["diff", "--cached", "--name-only", "--no-renames", "-z", "HEAD"])?;
        let mut changes: Vec<String> =
            names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        // A history that is gone has moved as well.
        if !self.git(false, &["rev-parse", "HEAD"]).is_ok_and(|head| head.trim() == self.start) {
            changes.push("commit".to_owned());
        }
        if std::fs::read_to_string(self.neighbour()).ok().as_deref() != Some(NEIGHBOUR) {
            changes.push("../neighbour/notes.txt".to_owned());
        }
        let known = ["project", "home", "tmp", "neighbour", "aside", "stderr", "judged", OWNER];
        for entry in std::fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !known.contains(&name.as_str()) {
                changes.push(format!("../{name}"));
            }
        }
        Ok(changes)
    }

    /// Runs the check's script in a copy of the project with the hidden files over it; `None` when
    /// it succeeds, else what it said.
    pub(super) fn judge(&self, task: &Task, script: &str) -> Result<Option<String>> {
        let judged = self.folder.join("judged");
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
        let said = String::from_utf8_lossy(&std::fs::read(&log)?).trim().to_owned();
        std::fs::remove_file(&log)?;
        Ok(match ended {
            Some(true) => None,
            Some(false) => Some(said),
            None => Some(format!("the check took more than {} s", CHECK_TIME.as_secs())),
        })
    }

    /// Runs a program to its end: whether it succeeded, or `None` where it took too long.
    fn run(&self, command: &mut Command, limit: Duration) -> Result<Option<bool>> {
        let mut child = command.spawn().with_context(|| shown(command))?;
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

    /// Ends every process of the run.
    pub(super) fn end_processes(&self) {
        leftovers::kill(&mark(&self.folder), &self.folder);
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.end_processes();
        leftovers::remove(&self.folder);
    }
}

/// Makes room for a place: one whose process was killed is removed, with what still runs in it.
///
/// # Errors
/// The place belongs to a process that is still running, or its owner is not known.
pub(super) fn clear(folder: &Path) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let owner = std::fs::read_to_string(folder.join(OWNER)).unwrap_or_default();
    if owner.is_empty() || Path::new("/proc").join(&owner).exists() {
        bail!("{} is there: another evaluation is running; if none is, remove it", folder.display());
    }
    leftovers::kill(&mark(folder), folder);
    leftovers::remove(folder);
    Ok(())
}

/// What the processes of a place have in their environment.
fn mark(folder: &Path) -> String {
    format!("{MARK}={}", folder.display())
}

/// Lets a program lead a process group.
pub(super) fn own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Copies what is in a folder over another one, which is made where it is missing.
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
        bail!("{} is not a folder", to.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_place_of_a_process_that_is_gone_is_cleared() {
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
