//! The steps of a restriction, in the only order in which they work.

use super::{filter, namespaces, rules, secrets};
use crate::limits::{SANDBOX_CPU, SANDBOX_DATA_BYTES, SANDBOX_FILE_BYTES, SANDBOX_PROCESSES};
use crate::{AbsPath, Sandbox, SandboxLevel};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Restricts this process for good. The mounts come first, because Landlock forbids them afterwards; the filter comes last, because it
/// forbids what the others need.
pub(super) fn restrict(sandbox: &Sandbox, namespaces: bool) -> Result<(), String> {
    if sandbox.level == SandboxLevel::Off {
        return Err("it has nothing to do at the level `off`; start the command without it".to_owned());
    }
    let sandbox = &resolved(sandbox);
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no-new-privileges: {error}"))?;
    if namespaces {
        let secrets = secrets::find(sandbox);
        namespaces::enter(sandbox, &secrets)?;
    }
    limits(namespaces)?;
    rules::apply(sandbox, namespaces)?;
    filter::apply(sandbox, namespaces)
}

/// The same with links resolved as they are now. A path that is not there stays as it is: there is nothing to hide or to guard.
fn resolved(sandbox: &Sandbox) -> Sandbox {
    let now = |path: &AbsPath| {
        let real = std::fs::canonicalize(path.as_std()).ok();
        real.and_then(|real| AbsPath::from_os(&real).ok()).unwrap_or_else(|| path.clone())
    };
    let all = |paths: &[AbsPath]| paths.iter().map(now).collect();
    Sandbox {
        writable: all(&sandbox.writable),
        guarded: all(&sandbox.guarded),
        covered: all(&sandbox.covered),
        hidden: all(&sandbox.hidden),
        ..sandbox.clone()
    }
}

/// Resource limits, below those that hold already. The number of processes is counted for the user and not for the command, except in a
/// user namespace.
fn limits(namespaces: bool) -> Result<(), String> {
    let mut limits = vec![
        (Resource::Core, 0),
        (Resource::Fsize, SANDBOX_FILE_BYTES),
        (Resource::Data, SANDBOX_DATA_BYTES),
        (Resource::Cpu, SANDBOX_CPU.as_secs()),
    ];
    if namespaces {
        limits.push((Resource::Nproc, SANDBOX_PROCESSES));
    }
    for (resource, most) in limits {
        let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|error| format!("resource limit {resource:?}: {error}"))?;
    }
    Ok(())
}
