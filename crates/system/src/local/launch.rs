//! Preparation before the launcher starts a command: finds secret and guarded files, and creates
//! the session's private temporary directory.

use super::{
    LocalSystem,
    blocking::blocking,
    private_directory,
    sandbox::{self, LaunchCommand, LaunchRequest, Survey, SurveyResult, TooMany},
    start,
};
use crate::limits::{TEMP_AGE, TEMP_SWEEP_INTERVAL};
use crate::{
    AbsPath, Command, Confinement, PipedCommand, PrivateTemp, Sandbox, SandboxLevel, SandboxSupport,
    SystemError,
};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use std::{fs, io};

/// Returns the directory for the temporary files of this user's sessions. It lies on a disk and
/// outside the directories that it stands in for. `None` where it is not supported.
pub fn private_temp() -> Option<AbsPath> {
    let usable = cfg!(target_os = "linux") && std::path::Path::new("/var/tmp").is_dir();
    let user = rustix::process::geteuid().as_raw();
    let path = || AbsPath::new(format!("/var/tmp/tiller-{user}")).expect("it is absolute");
    usable.then(path)
}

/// The name of the directory, next to a session's temporary files, in which this program keeps its
/// own files for the session: tool results in full length. Commands do not see it. It is swept
/// together with the temporary files.
pub const OUTPUT_DIRECTORY: &str = "outputs";

impl LocalSystem {
    /// Creates the request for the launcher; `None` if there is no launcher and the command needs
    /// none. With `external`, another program starts the launcher, in an environment that differs
    /// from this process's.
    pub(super) async fn prepare(
        &self,
        command: &Command,
        external: bool,
    ) -> Result<Option<LaunchRequest>, SystemError> {
        let request = LaunchRequest {
            sandbox: Sandbox { level: SandboxLevel::Off, ..Sandbox::default() },
            namespaces: false,
            processes: false,
            confirm: external,
            timed: !external && start::is_timed(),
            command: self.launch_command(command, external),
        };
        let (Confinement::Required(sandbox) | Confinement::LocalOnly(sandbox)) = &command.confinement else {
            return Ok((self.supervises() || external).then_some(request));
        };
        let support = self.support().await;
        sandbox::expect_support(&self.options.launcher, support)?;
        let (sandbox, survey) = (sandbox.clone(), self.survey.clone());
        let sandbox = blocking(move || complete_sandbox(sandbox, support, &survey)).await?;
        let request = LaunchRequest {
            sandbox,
            namespaces: support.namespaces,
            processes: support.processes,
            ..request
        };
        Ok(Some(request))
    }

    /// Returns the command as the launcher runs it. With `external`, the request carries the
    /// environment.
    fn launch_command(&self, command: &Command, external: bool) -> LaunchCommand {
        LaunchCommand {
            words: std::iter::once(&command.program).chain(&command.args).cloned().collect(),
            cwd: command.cwd.clone(),
            env: match external {
                true => {
                    command.environment().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
                }
                false => Vec::new(),
            },
            hidden_variables: if external { self.options.hidden_variables() } else { None },
            input: command.input.clone(),
            piped: command.interactive && !external,
        }
    }

    /// Returns whether there is a launcher, which supervises what it starts.
    fn supervises(&self) -> bool {
        cfg!(target_os = "linux") && !self.options.launcher.is_empty()
    }

    /// Creates the request for a program with piped streams: supervised, but not confined.
    pub(super) fn supervised(&self, command: &PipedCommand) -> Option<LaunchRequest> {
        let request = || LaunchRequest {
            sandbox: Sandbox { level: SandboxLevel::Off, ..Sandbox::default() },
            namespaces: false,
            processes: false,
            confirm: false,
            timed: start::is_timed(),
            command: LaunchCommand {
                words: std::iter::once(&command.program).chain(&command.args).cloned().collect(),
                cwd: command.cwd.clone(),
                env: command.env.clone(),
                hidden_variables: None,
                input: None,
                piped: true,
            },
        };
        self.supervises().then(request)
    }

    async fn support(&self) -> SandboxSupport {
        crate::System::sandbox_support(self).await
    }
}

/// Completes a sandbox with what depends on the current state of the disk.
fn complete_sandbox(
    mut sandbox: Sandbox,
    support: SandboxSupport,
    survey: &Survey,
) -> Result<Sandbox, SystemError> {
    if !support.namespaces {
        sandbox.writable.temp.clear();
        return Ok(sandbox);
    }
    let outside: Vec<_> = sandbox.writable.roots.iter().filter_map(sandbox::git_directory).collect();
    sandbox.writable.roots.extend(outside);
    let SurveyResult { secrets, guarded, pinned, missing } = survey.scan(&sandbox).map_err(|TooMany| {
        SystemError::NoSandbox("the project has too many files to search for secret ones")
    })?;
    for path in guarded {
        if !sandbox.protected.guarded.contains(&path) {
            sandbox.protected.guarded.push(path);
        }
    }
    sandbox.protected.reserved.extend(missing);
    if sandbox.level != SandboxLevel::WorkspaceWrite {
        sandbox.protected.reserved.clear();
    }
    sandbox.secret.blanked = secrets;
    // The temporary files of other sessions must not be visible to this session's commands.
    sandbox.secret.hidden.extend(private_temp());
    sandbox.protected.pinned = pinned;
    sandbox.writable.temp.retain(|temp| match create_directories(temp) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, path = %temp.backing, "a private temporary directory cannot be created; commands share the public one");
            false
        }
    });
    Ok(sandbox)
}

/// Removes the temporary files of other sessions that have not been used for [`TEMP_AGE`]. Blocks
/// for some microseconds for each session. Does nothing if this process did the same within
/// [`TEMP_SWEEP_INTERVAL`].
pub(super) fn sweep(sandbox: &Sandbox) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < TEMP_SWEEP_INTERVAL) {
            return;
        }
        *last = Some(Instant::now());
    }
    for temp in &sandbox.writable.temp {
        let (Some(own), Some(base)) =
            (temp.backing.parent(), temp.backing.parent().and_then(|own| own.parent()))
        else {
            continue;
        };
        for entry in fs::read_dir(base.as_std()).into_iter().flatten().flatten() {
            let is_old = |path: PathBuf| {
                let used = fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
                used.and_then(|used| used.elapsed().ok()).is_none_or(|age| age > TEMP_AGE)
            };
            let sessions = entry.path().join("0");
            let outputs = entry.path().join(OUTPUT_DIRECTORY);
            let used = [sessions.join("upper"), outputs.clone(), entry.path()];
            let old = used.into_iter().all(is_old) && (sessions.is_dir() || outputs.is_dir());
            if old && entry.path() != own.as_std() {
                // The kernel creates this directory without permissions; it cannot be removed
                // before it is opened up.
                for work in [sessions.join("work/work"), entry.path().join("1/work/work")] {
                    fs::set_permissions(work, fs::Permissions::from_mode(0o700)).ok();
                }
                if let Err(error) = fs::remove_dir_all(entry.path()) {
                    tracing::debug!(%error, path = %entry.path().display(), "old temporary files could not be removed");
                }
            }
        }
    }
}

/// Creates the directories for a session's temporary files.
fn create_directories(temp: &PrivateTemp) -> io::Result<()> {
    private_directory::create(&temp.backing)?;
    private_directory::create(&temp.files())?;
    private_directory::create(&temp.work())
}
