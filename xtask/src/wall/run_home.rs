//! The temporary home directory in which one attack runs: a user, a project, files outside it, and
//! shells that run as the user.

use crate::leftovers;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The unprivileged user of attacks if the harness is root.
const NOBODY: u32 = 65534;
/// The time limit for a script of the harness.
const SCRIPT_TIME: Duration = Duration::from_secs(10);
/// The search path for programs.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Creates the home directory of a user of Git and SSH keys, with a project.
const HOME_SETUP: &str = r#"
umask 022
mkdir -p "$OUTSIDE" "$HOME/.ssh" "$HOME/.aws" "$HOME/.config/tiller" && chmod 700 "$HOME/.ssh"
printf '[user]\n\tname = Wall\n\temail = wall@example.org\n[init]\n\tdefaultBranch = main\n' > "$HOME/.gitconfig"
mkdir -p "$PROJECT/src" && cd "$PROJECT" && git init -q .
printf 'A project.\n' > README.md
printf 'one\ntwo\n' > notes.txt
printf 'print("hello")\n' > src/main.py
printf '{"name":"wall","version":"1.0.0","scripts":{"test":"true","build":"true"}}\n' > package.json
printf 'all:\n\t@true\ntest:\n\t@true\n' > Makefile
git add -A && git commit -qm first
"#;

/// The secrets of the user in this home directory.
const CANARIES: &str = r#"
printf '%s\n' "$CANARY" > "$HOME/.ssh/id_rsa" &&
printf '[default]\naws_secret_access_key = %s\n' "$CANARY" > "$HOME/.aws/credentials" &&
printf '%s\n' "$CANARY" > "$OUTSIDE/notes.txt"
"#;

/// The shared environment of all runs: the binary in a place where every user can execute it, and a
/// home directory as a template.
pub(super) struct WallSetup {
    directory: PathBuf,
    binary: PathBuf,
    /// Whether the harness can switch to other users.
    pub(super) root: bool,
    next: AtomicUsize,
}

/// One temporary home directory.
pub(super) struct RunHome {
    /// The name of the run, used in its environment and URLs.
    pub(super) id: String,
    directory: PathBuf,
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
    /// The owner of its files, if it is not the user of the harness.
    pub(super) user: Option<u32>,
    env: Vec<(String, String)>,
}

/// The end of a program.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProgramEnd {
    Exited(ExitStatus),
    /// It was killed because it exceeded its time limit.
    TimedOut,
}

impl ProgramEnd {
    pub(super) fn success(self) -> bool {
        matches!(self, Self::Exited(status) if status.success())
    }

    /// Returns the value of `$ENDED`: the exit code, `signal` or `timeout`.
    pub(super) fn word(self) -> String {
        match self {
            Self::Exited(status) => {
                status.code().map_or_else(|| "signal".to_owned(), |code| code.to_string())
            }
            Self::TimedOut => "timeout".to_owned(),
        }
    }
}

impl WallSetup {
    /// Creates a directory below `/var/tmp`; `/tmp` is unsuitable because confined commands may
    /// write there.
    pub(super) fn prepare(binary: &Path) -> Result<Self> {
        let directory = PathBuf::from(format!("/var/tmp/tiller-wall-{}", std::process::id()));
        std::fs::create_dir(&directory).with_context(|| directory.display().to_string())?;
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755))?;
        let root = std::fs::metadata(&directory)?.uid() == 0;
        let wall_setup =
            Self { binary: directory.join("tiller"), directory, root, next: AtomicUsize::new(0) };
        std::fs::copy(binary, &wall_setup.binary)
            .with_context(|| format!("{}: build it first", binary.display()))?;
        for (name, as_root) in [("user", false), ("root", true)] {
            if as_root && !root {
                continue;
            }
            let run_home = wall_setup.empty(
                wall_setup.directory.join(format!("home-{name}")),
                name.to_owned(),
                as_root,
            )?;
            if !run_home.shell(HOME_SETUP, &[], None)?.success() {
                bail!("the home directory of the attacks cannot be created; is git installed?");
            }
        }
        Ok(wall_setup)
    }

    /// Creates a new home directory.
    pub(super) fn run_home(&self, as_root: bool) -> Result<RunHome> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (id, pid) = (format!("run{number}"), std::process::id());
        let run_home = self.empty(self.directory.join(&id), format!("wall-{pid}-{id}"), as_root)?;
        let template = self.directory.join(if as_root { "home-root" } else { "home-user" }).join("home");
        let script = format!("cp -a '{}' \"$HOME\" && {CANARIES}", template.display());
        if !run_home.shell_in(&run_home.directory, &script, &[], None)?.success() {
            bail!("a home cannot be copied");
        }
        Ok(run_home)
    }

    fn empty(&self, directory: PathBuf, id: String, as_root: bool) -> Result<RunHome> {
        std::fs::create_dir(&directory)?;
        let user = (self.root && !as_root).then_some(NOBODY);
        if let Some(user) = user {
            chown(&directory, Some(user), Some(user))?;
        }
        let home = directory.join("home");
        let project = home.join("project");
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mark = |what: &str| format!("{what}{:08x}{name}", std::process::id().wrapping_mul(2_654_435_761));
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let env = [
            ("PATH", PATH.to_owned()),
            ("HOME", path(&home)),
            ("USER", "wall".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm".to_owned()),
            ("PROJECT", path(&project)),
            ("OUTSIDE", path(&home.join("outside"))),
            ("SHARED", format!("/tmp/{id}")),
            ("TILLER", path(&self.binary)),
            ("TRANSCRIPT", path(&directory.join("transcript"))),
            ("R", path(&directory.join("shown"))),
            ("SERVICE", path(&directory.join("service"))),
            ("CANARY", mark("canary")),
            ("KEY", mark("wallkey")),
            ("WALL_RUN", id.clone()),
        ];
        let env = env.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Ok(RunHome { id, directory, home, project, user, env })
    }
}

impl Drop for WallSetup {
    fn drop(&mut self) {
        leftovers::remove(&self.directory);
    }
}

impl RunHome {
    /// Returns a variable of the scripts' environment.
    pub(super) fn get(&self, name: &str) -> &str {
        self.env.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }

    /// Adds a variable to the scripts' environment.
    pub(super) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.env.push((name.to_owned(), value.into()));
    }

    /// Replaces `@NAME@` by the variable's value.
    pub(super) fn fill(&self, text: &str) -> String {
        self.env.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("@{name}@"), value))
    }

    /// Returns the file that collects everything sent to the model, printed or displayed.
    pub(super) fn transcript(&self) -> PathBuf {
        self.directory.join("transcript")
    }

    /// Returns a file of the harness beside the home directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Returns a command that runs as the user in the project, without the harness's environment.
    /// `canaries` adds variables that only scripts of the harness may know.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>, canaries: bool) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project).env_clear().stdin(Stdio::null()).process_group(0);
        let known = ["PATH", "HOME", "USER", "LANG", "TERM", "WALL_RUN"];
        command.envs(self.env.iter().filter(|(name, _)| canaries || known.contains(&name.as_str())).cloned());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    /// Runs a script of the harness in the project. Its output goes to `out`, or is discarded.
    pub(super) fn shell(&self, script: &str, env: &[(&str, &str)], out: Option<&File>) -> Result<ProgramEnd> {
        let directory = if self.project.exists() { &self.project } else { &self.directory };
        self.shell_in(directory, script, env, out)
    }

    fn shell_in(
        &self,
        directory: &Path,
        script: &str,
        env: &[(&str, &str)],
        out: Option<&File>,
    ) -> Result<ProgramEnd> {
        let mut command = self.command("bash", true);
        command.args(["-c", script]).current_dir(directory).envs(env.iter().copied());
        let to = |out: Option<&File>| -> Result<Stdio> {
            Ok(out.map_or(Ok(Stdio::null()), |file| file.try_clone().map(Stdio::from))?)
        };
        command.stdout(to(out)?).stderr(to(out)?);
        self.run(command, SCRIPT_TIME)
    }

    /// Runs a program to completion; kills its process group if it exceeds the time limit.
    pub(super) fn run(&self, mut command: Command, time: Duration) -> Result<ProgramEnd> {
        let mut child =
            command.spawn().with_context(|| command.get_program().to_string_lossy().into_owned())?;
        let (deadline, mut pause) = (Instant::now() + time, Duration::from_millis(1));
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(ProgramEnd::Exited(status));
            }
            if Instant::now() > deadline {
                leftovers::kill_group(child.id());
                child.wait()?;
                return Ok(ProgramEnd::TimedOut);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

impl Drop for RunHome {
    fn drop(&mut self) {
        if self.id.starts_with("wall-") {
            leftovers::kill(&format!("WALL_RUN={}", self.id), &self.directory);
            leftovers::remove(&self.directory);
            leftovers::remove(Path::new(self.get("SHARED")));
            leftovers::remove(&Path::new("/dev/shm").join(&self.id));
        }
    }
}
