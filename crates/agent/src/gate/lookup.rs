//! The lookups before a decision: resolved paths, the dialect of the shell, the confinement of
//! commands.

use crate::{
    Access,
    policy::{self, Bounds, CommandConfinement, Dialect, Resolved},
};
use system::{
    AbsPath, Route, Sandbox, SandboxLevel, SandboxSupport, ShellProgram, System, TEMP_PLACE, View,
    resolve_stored,
};

/// Returns the files of the accesses at which `view` stores them, and where they lead.
pub(super) fn places(accesses: &[Resolved], view: &View) -> Vec<(AbsPath, AbsPath)> {
    let place = |resolved: &Resolved| match &resolved.access {
        Access::Read(path) | Access::Write(path) => Some((view.stored(path), resolved.canonical.clone()?)),
        _ => None,
    };
    accesses.iter().filter_map(place).collect()
}

/// Returns whether an access leads to temporary files, by itself or through a command.
pub(super) fn uses_temp(access: &Access) -> bool {
    let place = AbsPath::new(TEMP_PLACE).expect("it is absolute");
    match access {
        Access::Read(path) | Access::Write(path) => path.starts_with(&place),
        Access::Execute { .. } => true,
        _ => false,
    }
}

/// Returns an access with the results of its lookups, in a session with this directory, whose
/// commands see the files of `view`.
pub(super) async fn resolved(
    system: &dyn System,
    access: Access,
    executor: Option<Route>,
    folder: &AbsPath,
    view: &View,
) -> Resolved {
    let canonical = match &access {
        // Links on another machine cannot be resolved from here.
        Access::Read(path) | Access::Write(path) if executor.is_none() => {
            resolve_stored(system, view, path).await.ok()
        }
        // The session's own directory needs no lookup: it defines the boundary.
        Access::Execute { cwd, .. } if executor.is_none() && cwd != folder => {
            resolve_stored(system, view, cwd).await.ok()
        }
        _ => None,
    };
    let dialect = match &access {
        Access::Execute { unconfined, .. } => dialect(system, executor, *unconfined).await,
        _ => Dialect::Unknown,
    };
    let controls_git = match (&access, &canonical) {
        (Access::Write(_), Some(path)) => {
            let directory = path.parent().unwrap_or_else(|| path.clone());
            controls_git(system, path).await || system.named_by_git(&view.roots, &directory).await.has(path)
        }
        _ => false,
    };
    Resolved { controls_git, ..Resolved::new(access, canonical, dialect) }
}

/// Returns whether a file controls what git runs in a repository, whatever its directory is called.
async fn controls_git(system: &dyn System, path: &AbsPath) -> bool {
    let Some(directory) = path.parent() else { return false };
    let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
    let repository = match directory.file_name().map(str::to_ascii_lowercase).as_deref() {
        Some("hooks") => directory.parent(),
        _ if ["config", "config.worktree", "commondir", "gitdir"].contains(&name.as_str()) => Some(directory),
        _ => None,
    };
    let Some(repository) = repository else { return false };
    system.metadata(&repository.join("HEAD")).await.is_ok()
}

/// Returns the dialect of the shell that a command would run in.
///
/// The shell in a client's terminal is the client's choice and therefore unknown, unless the
/// command is started through our launcher.
pub(super) async fn dialect(system: &dyn System, executor: Option<Route>, unconfined: bool) -> Dialect {
    let at_client = executor.unwrap_or_else(|| system.routes().spawn) == Route::Client;
    let launched = || async { !unconfined && system.sandbox_support().await.in_client };
    match system.shell() {
        ShellProgram::Bash if executor.is_none() && (!at_client || launched().await) => Dialect::Bash,
        _ => Dialect::Unknown,
    }
}

/// Returns where the commands of a call would run and the sandbox that would confine them.
pub(super) async fn confinement(
    system: &dyn System,
    bounds: &Bounds<'_>,
    accesses: &[Resolved],
    executor: Option<Route>,
) -> (CommandConfinement, Sandbox) {
    let lifted = accesses.iter().find_map(|resolved| match resolved.access {
        Access::Execute { unconfined, .. } => Some(unconfined),
        _ => None,
    });
    let Some(lifted) = lifted else {
        // Nothing is run, but the sandbox's secret files still apply to a search.
        let sandbox = policy::sandbox(bounds);
        return (CommandConfinement::Off, Sandbox { level: SandboxLevel::Off, ..sandbox });
    };
    // Confining a command needs roots with their links resolved.
    let mut canonical = Vec::with_capacity(bounds.roots.len());
    for root in bounds.roots {
        canonical.push(system.resolve(root).await.unwrap_or_else(|_| root.clone()));
    }
    let mut sandbox = policy::sandbox(&Bounds { roots: &canonical, ..*bounds });
    if let Some(home) = &mut sandbox.view.home {
        home.at = system.resolve(&home.at).await.unwrap_or_else(|_| home.at.clone());
    }
    let support = match sandbox.level {
        SandboxLevel::Off => SandboxSupport::default(),
        _ => system.sandbox_support().await,
    };
    // A tool that names its own executor does not go through the launcher.
    let support = SandboxSupport { in_client: support.in_client && executor.is_none(), ..support };
    let confinement =
        CommandConfinement::of(&sandbox, support, executor.unwrap_or_else(|| system.routes().spawn), lifted);
    if !support.applies() {
        sandbox.level = SandboxLevel::Off;
    }
    (confinement, sandbox)
}
