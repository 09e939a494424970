//! What is done right before the launcher starts a command: names are reserved, secret files are looked
//! for, the session's own temporary directory is made.

use super::{
    LocalSystem, blocking,
    placeholders::{self, Placeholder},
    sandbox::{self, Found, Order, Survey, TooMany},
};
use crate::{Command, Confinement, PrivateTemp, Sandbox, SandboxLevel, SandboxSupport, SystemError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::{fs, io};

/// A command that the launcher is to start.
pub(super) struct Launch {
    pub(super) order: Order,
    /// Names that are taken for as long as the command runs.
    pub(super) held: Vec<Placeholder>,
}

impl LocalSystem {
    /// Prepares a command for the launcher; `None` where there is none and none is needed. With
    /// `elsewhere` the launcher is started by somebody else, in an environment that is not this
    /// process's.
    pub(super) async fn prepare(
        &self,
        command: &Command,
        elsewhere: bool,
    ) -> Result<Option<Launch>, SystemError> {
        let order = Order {
            sandbox: Sandbox { level: SandboxLevel::Off, ..Sandbox::default() },
            namespaces: false,
            processes: false,
            confirm: elsewhere,
            cwd: command.cwd.clone(),
            env: match elsewhere {
                true => command.environment().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
                false => Vec::new(),
            },
            hiding: if elsewhere { self.options.hiding() } else { None },
            input: command.input.clone(),
            command: std::iter::once(&command.program).chain(&command.args).cloned().collect(),
        };
        let Confinement::Required(sandbox) = &command.confinement else {
            let supervised = cfg!(target_os = "linux") && !self.options.launcher.is_empty();
            return Ok((supervised || elsewhere).then_some(Launch { order, held: Vec::new() }));
        };
        let support = self.support().await;
        sandbox::expect_support(&self.options.launcher, support)?;
        let (sandbox, survey) = (sandbox.clone(), self.survey.clone());
        let (sandbox, held) = blocking(move || surround(sandbox, support, &survey)).await?;
        let order = Order { sandbox, namespaces: support.namespaces, processes: support.processes, ..order };
        Ok(Some(Launch { order, held }))
    }

    async fn support(&self) -> SandboxSupport {
        crate::System::sandbox_support(self).await
    }
}

/// Completes a sandbox by what depends on what is on the disk now.
fn surround(
    mut sandbox: Sandbox,
    support: SandboxSupport,
    survey: &Survey,
) -> Result<(Sandbox, Vec<Placeholder>), SystemError> {
    if !support.namespaces {
        sandbox.temp.clear();
        return Ok((sandbox, Vec::new()));
    }
    // Before names are reserved: what stands in for them is covered, not guarded.
    let Found { secrets, guarded } = survey.look(&sandbox).map_err(|TooMany| {
        SystemError::NoSandbox("the project holds too many files to find its secret ones")
    })?;
    sandbox.blanked = secrets;
    for path in guarded {
        if !sandbox.guarded.contains(&path) {
            sandbox.guarded.push(path);
        }
    }
    let held = match sandbox.level {
        SandboxLevel::WorkspaceWrite => placeholders::reserve(&sandbox),
        SandboxLevel::Off | SandboxLevel::ReadOnly => Vec::new(),
    };
    for placeholder in &held {
        let paths = if placeholder.is_folder { &mut sandbox.guarded } else { &mut sandbox.covered };
        paths.push(placeholder.path.clone());
    }
    // What is covered needs no other mount.
    let Sandbox { guarded, covered, blanked, .. } = &mut sandbox;
    guarded.retain(|path| !covered.contains(path));
    blanked.retain(|path| !guarded.contains(path) && !covered.contains(path));
    sandbox.temp.retain(|temp| match make(temp) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, path = %temp.backing, "commands share the temporary directory");
            false
        }
    });
    Ok((sandbox, held))
}

/// Makes the directories of a session's temporary files. They are this user's alone.
fn make(temp: &PrivateTemp) -> io::Result<()> {
    let mut above: Vec<_> = std::iter::successors(temp.backing.parent(), |path| path.parent()).collect();
    above.reverse();
    for path in above.into_iter().chain([temp.backing.clone(), temp.files(), temp.work()]) {
        match fs::DirBuilder::new().mode(0o700).create(path.as_std()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let found = fs::symlink_metadata(temp.backing.as_std())?;
    let own = found.uid() == rustix::process::geteuid().as_raw() && found.is_dir() && found.mode() & 0o077 == 0;
    own.then_some(()).ok_or_else(|| io::Error::other("it belongs to somebody else, or others may enter it"))
}
