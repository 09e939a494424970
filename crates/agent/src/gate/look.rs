//! What is looked up before a decision: where paths lead, how a shell reads, what confines a command.

use crate::{
    Access,
    policy::{self, Bounds, Dialect, Resolved, Shelter},
};
use system::{AbsPath, Route, Sandbox, SandboxLevel, SandboxSupport, ShellProgram, System};

pub(super) fn places(accesses: &[Resolved]) -> Vec<(AbsPath, AbsPath)> {
    let place = |resolved: &Resolved| match &resolved.access {
        Access::Read(path) | Access::Write(path) => Some((path.clone(), resolved.canonical.clone()?)),
        _ => None,
    };
    accesses.iter().filter_map(place).collect()
}

/// An access with what is looked up about it, in a session with this folder.
pub(super) async fn resolved(
    system: &dyn System,
    access: Access,
    executor: Option<Route>,
    folder: &AbsPath,
) -> Resolved {
    let canonical = match &access {
        // A link on another machine cannot be seen from here.
        Access::Read(path) | Access::Write(path) if executor.is_none() => system.resolve(path).await.ok(),
        // The session's own folder needs no look: it is what the boundary is.
        Access::Execute { cwd, .. } if executor.is_none() && cwd != folder => system.resolve(cwd).await.ok(),
        _ => None,
    };
    let dialect = match &access {
        Access::Execute { unconfined, .. } => dialect(system, executor, *unconfined).await,
        _ => Dialect::Unknown,
    };
    Resolved::new(access, canonical, dialect)
}

/// How the shell reads that a command would get. What a client starts in its terminal is the client's to say, unless
/// it is started through our launcher.
pub(super) async fn dialect(system: &dyn System, executor: Option<Route>, unconfined: bool) -> Dialect {
    let at_client = executor.unwrap_or_else(|| system.routes().spawn) == Route::Client;
    let launched = || async { !unconfined && system.sandbox_support().await.in_client };
    match system.shell() {
        ShellProgram::Bash if executor.is_none() && (!at_client || launched().await) => Dialect::Bash,
        _ => Dialect::Unknown,
    }
}

/// Where the commands of a call would run, and what they would be confined by.
pub(super) async fn shelter(
    system: &dyn System,
    bounds: &Bounds<'_>,
    accesses: &[Resolved],
    executor: Option<Route>,
) -> (Shelter, Sandbox) {
    let lifted = accesses.iter().find_map(|resolved| match resolved.access {
        Access::Execute { unconfined, .. } => Some(unconfined),
        _ => None,
    });
    let Some(lifted) = lifted else {
        // Nothing is run; which files are secret still holds for a search.
        let sandbox = policy::sandbox(bounds);
        return (Shelter::Off, Sandbox { level: SandboxLevel::Off, ..sandbox });
    };
    // With links resolved, as whoever confines a command needs them.
    let mut canonical = Vec::with_capacity(bounds.roots.len());
    for root in bounds.roots {
        canonical.push(system.resolve(root).await.unwrap_or_else(|_| root.clone()));
    }
    let mut sandbox = policy::sandbox(&Bounds { roots: &canonical, ..*bounds });
    let support = match sandbox.level {
        SandboxLevel::Off => SandboxSupport::default(),
        _ => system.sandbox_support().await,
    };
    // A tool that names who runs its commands does not go through the launcher.
    let support = SandboxSupport { in_client: support.in_client && executor.is_none(), ..support };
    let shelter = Shelter::of(&sandbox, support, executor.unwrap_or_else(|| system.routes().spawn), lifted);
    if !support.applies() {
        sandbox.level = SandboxLevel::Off;
    }
    (shelter, sandbox)
}
