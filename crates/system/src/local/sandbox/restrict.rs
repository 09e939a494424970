//! The steps of the confinement, in the only order that works. Runs in the inner stage.

use super::{
    capabilities, filter,
    launch_request::{LaunchCommand, LaunchRequest},
    mounts, rules,
};
use crate::{AbsPath, ResourceLimits};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The first version of Linux in which each PID namespace has its own `kernel.pid_max`.
const PID_MAX_OF_NAMESPACE: (u32, u32) = (6, 14);

/// Restricts this process permanently. Mounts come first, because Landlock forbids them afterwards;
/// the seccomp filter comes last, because it forbids calls that the other steps need.
pub(super) fn restrict(request: &LaunchRequest) -> Result<(), String> {
    let request = &resolved(request);
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no-new-privileges: {error}"))?;
    if request.joins {
        mounts::build(request)?;
    }
    let cwd = request.command.cwd.as_std();
    // The current directory still refers to the directory below the new mounts.
    std::env::set_current_dir(cwd).map_err(|error| format!("{}: {error}", cwd.display()))?;
    limits(request)?;
    capabilities::drop_all()?;
    rules::apply(&request.sandbox, request.joins)?;
    filter::apply(&request.sandbox, request.joins)
}

/// Resolves the links in the paths of a request as they are now. A path that does not exist is
/// kept: there is nothing to hide or to guard.
fn resolved(request: &LaunchRequest) -> LaunchRequest {
    let now = |path: &AbsPath| {
        let real = std::fs::canonicalize(path.as_std()).ok();
        real.and_then(|real| AbsPath::from_os(&real).ok()).unwrap_or_else(|| path.clone())
    };
    let mut sandbox = request.sandbox.clone();
    for paths in [&mut sandbox.protected.guarded, &mut sandbox.secret.hidden] {
        *paths = paths.iter().map(now).collect();
    }
    let command = LaunchCommand { cwd: now(&request.command.cwd), ..request.command.clone() };
    LaunchRequest { sandbox, command, ..request.clone() }
}

/// Applies resource limits, unless a lower limit is already in force.
fn limits(request: &LaunchRequest) -> Result<(), String> {
    let ResourceLimits { processes, memory_bytes, file_bytes, cpu_seconds } = request.sandbox.limits;
    let mut limits = vec![
        (Resource::Core, 0),
        (Resource::Fsize, file_bytes),
        (Resource::Data, memory_bytes),
        (Resource::Cpu, cpu_seconds),
    ];
    // Counted per user of the namespace. Without a namespace, the limit would count the user's
    // other processes.
    if request.joins {
        limits.push((Resource::Nproc, processes));
    }
    for (resource, most) in limits {
        let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|error| format!("resource limit {resource:?}: {error}"))?;
    }
    // The kernel does not apply the process limit to root.
    if request.processes && rustix::process::geteuid().is_root() && linux_version() >= PID_MAX_OF_NAMESPACE {
        std::fs::write("/proc/sys/kernel/pid_max", processes.max(LEAST_PID_MAX).to_string())
            .map_err(|error| format!("resource limit of processes: {error}"))?;
    }
    Ok(())
}

/// The minimum that the kernel accepts.
const LEAST_PID_MAX: u64 = 512;

/// Returns the major and minor version of the kernel.
fn linux_version() -> (u32, u32) {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}
