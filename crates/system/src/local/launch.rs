//! What is done right before the launcher starts a command: names are reserved, secret files are looked
//! for, the session's own temporary directory is made.

use super::{
    LocalSystem, blocking,
    placeholders::{self, Placeholder},
    sandbox::{self, Found, Order, Survey, TooMany},
};
use crate::{AbsPath, Command, Confinement, PrivateTemp, Sandbox, SandboxLevel, SandboxSupport, SystemError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::{fs, io};

/// Where the temporary files of this user's sessions are kept; outside of the directories that they stand
/// in for, and on a disk.
pub fn private_temp() -> Option<AbsPath> {
    let usable = cfg!(target_os = "linux") && std::path::Path::new("/var/tmp").is_dir();
    let user = rustix::process::geteuid().as_raw();
    let path = || AbsPath::new(format!("/var/tmp/tiller-{user}")).expect("it is absolute");
    usable.then(path)
}

/// A command that the launcher is to start.
pub(super) struct Prepared {
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
    ) -> Result<Option<Prepared>, SystemError> {
        let order = Order {
            sandbox: Sandbox { level: SandboxLevel::Off, ..Sandbox::default() },
            namespaces: false,
            processes: false,
            confirm: elsewhere,
            cwd: command.cwd.clone(),
            env: match elsewhere {
                true => {
                    command.environment().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
                }
                false => Vec::new(),
            },
            hiding: if elsewhere { self.options.hiding() } else { None },
            input: command.input.clone(),
            command: std::iter::once(&command.program).chain(&command.args).cloned().collect(),
        };
        let (Confinement::Required(sandbox) | Confinement::HereOnly(sandbox)) = &command.confinement else {
            let supervised = cfg!(target_os = "linux") && !self.options.launcher.is_empty();
            return Ok((supervised || elsewhere).then_some(Prepared { order, held: Vec::new() }));
        };
        let support = self.support().await;
        sandbox::expect_support(&self.options.launcher, support)?;
        let (sandbox, survey) = (sandbox.clone(), self.survey.clone());
        let (sandbox, held) = blocking(move || surround(sandbox, support, &survey)).await?;
        let order = Order { sandbox, namespaces: support.namespaces, processes: support.processes, ..order };
        Ok(Some(Prepared { order, held }))
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
    let Found { secrets, guarded, missing } = survey.look(&sandbox).map_err(|TooMany| {
        SystemError::NoSandbox("the project holds too many files to find its secret ones")
    })?;
    sandbox.blanked = secrets;
    sandbox.reserved_blanks.extend(missing);
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
        let paths = match placeholder.is_folder {
            true => &mut sandbox.guarded,
            false if sandbox.reserved_blanks.contains(&placeholder.path) => &mut sandbox.blanked,
            false => &mut sandbox.covered,
        };
        if !paths.contains(&placeholder.path) {
            paths.push(placeholder.path.clone());
        }
    }
    // What is covered needs no other mount.
    let Sandbox { guarded, covered, blanked, .. } = &mut sandbox;
    guarded.retain(|path| !covered.contains(path) && !blanked.contains(path));
    blanked.retain(|path| !covered.contains(path));
    sandbox.temp.retain(|temp| match make(temp) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, path = %temp.backing, "commands share the temporary directory");
            false
        }
    });
    Ok((sandbox, held))
}

/// Makes the directories of a session's temporary files.
fn make(temp: &PrivateTemp) -> io::Result<()> {
    private_directory(&temp.backing)?;
    private_directory(&temp.files())?;
    private_directory(&temp.work())
}

/// Makes a directory, and those above it, that is this user's alone and cannot be replaced by others.
pub(super) fn private_directory(path: &AbsPath) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let mut above: Vec<_> = std::iter::successors(path.parent(), AbsPath::parent).collect();
    above.reverse();
    for path in above.iter().chain([path]) {
        match fs::DirBuilder::new().mode(0o700).create(path.as_std()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let safe = |path: &AbsPath| {
        let found = fs::symlink_metadata(path.as_std())?;
        let (mode, owned) = (found.mode(), [0, user].contains(&found.uid()));
        // In a sticky directory nobody can rename what belongs to others.
        io::Result::Ok(found.is_dir() && owned && (mode & 0o022 == 0 || mode & 0o1000 != 0))
    };
    let found = fs::symlink_metadata(path.as_std())?;
    let mut all = above.iter().map(safe).collect::<io::Result<Vec<_>>>()?;
    all.push(found.uid() == user && found.is_dir() && found.mode() & 0o077 == 0);
    all.into_iter().all(|safe| safe).then_some(()).ok_or_else(|| io::Error::other("others could replace it"))
}
