//! What a confined command cannot change or read of the room's files. Covers what Landlock cannot
//! express, because a Landlock rule can only add rights for the files below a directory. Runs in the
//! inner stage, in its own mount and PID namespaces.
//!
//! A mount point can be neither renamed nor removed. Therefore every path that must stay in place
//! is bind-mounted onto itself, and so is every directory between it and the writable directory
//! that contains it.

use super::{
    launch_request::LaunchRequest,
    namespaces::problem,
    room::{cover, read_only},
};
use crate::{AbsPath, Sandbox};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
};
use std::collections::BTreeSet;

/// Builds the view.
pub(super) fn build(request: &LaunchRequest) -> Result<(), String> {
    let sandbox = &request.sandbox;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(problem("mounts"))?;
    if request.processes {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "/proc", "proc", flags, None).map_err(problem("/proc"))?;
    }
    for path in mount_points(sandbox) {
        mount_bind_recursive(path.as_std(), path.as_std()).map_err(problem(&path))?;
    }
    for path in sandbox.protected.guarded.iter().filter(|path| exists(path)) {
        mount_bind(path.as_std(), path.as_std()).map_err(problem(path))?;
        read_only(path.as_str()).map_err(problem(path))?;
    }
    for path in &sandbox.secret.blanked {
        // An error if the file has been moved since it was found: the uncovered file could be read.
        mount_bind("/dev/null", path.as_std()).map_err(problem(path))?;
    }
    for path in &sandbox.secret.hidden {
        cover(path.as_std()).map_err(problem(path))?;
    }
    Ok(())
}

/// Returns the paths that must stay in place: the directories between a writable directory, which is
/// a mount of the room, and the guarded or hidden paths in it. Parents come before their children.
fn mount_points(sandbox: &Sandbox) -> BTreeSet<AbsPath> {
    let mut mount_points: BTreeSet<_> = sandbox.protected.pinned.iter().cloned().collect();
    mount_points.retain(exists);
    for path in
        sandbox.protected.guarded.iter().chain(&sandbox.secret.hidden).chain(&sandbox.protected.pinned)
    {
        if !exists(path) {
            continue;
        }
        let mut above = path.parent();
        while let Some(directory) = above {
            if !sandbox.view.roots.iter().any(|root| directory.starts_with(root) && &directory != root) {
                break;
            }
            above = directory.parent();
            mount_points.insert(directory);
        }
    }
    mount_points
}

fn exists(path: &AbsPath) -> bool {
    std::fs::symlink_metadata(path.as_std()).is_ok()
}
