//! The file system as a confined command sees it. Covers what Landlock cannot express, because a
//! Landlock rule can only add rights for the files below a directory. Runs in the inner stage, in
//! its own mount and PID namespaces.
//!
//! A mount point can be neither renamed nor removed. Therefore every path that must stay in place
//! is bind-mounted onto itself, and so is every directory between it and the writable directory
//! that contains it.

use super::{devices, launch_request::LaunchRequest, namespaces::problem};
use crate::{AbsPath, PrivateTemp, Sandbox};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};

/// Builds the view.
pub(super) fn build(request: &LaunchRequest) -> Result<(), String> {
    let sandbox = &request.sandbox;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(problem("mounts"))?;
    if request.processes {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("proc", "/proc", "proc", flags, None).map_err(problem("/proc"))?;
    }
    let below_temp = roots_below_temp(sandbox)?;
    devices::private()?;
    for temp in &sandbox.writable.temp {
        private_temp(temp)?;
    }
    for (path, directory) in &below_temp {
        // It does not exist if the shared directory could not be used as the overlay's lower layer.
        std::fs::create_dir_all(path.as_std()).map_err(problem(path))?;
        let source = format!("/proc/self/fd/{}", directory.as_raw_fd());
        mount_bind_recursive(source, path.as_std()).map_err(problem(path))?;
    }
    for path in mount_points(sandbox) {
        mount_bind_recursive(path.as_std(), path.as_std()).map_err(problem(&path))?;
    }
    for path in &sandbox.protected.guarded {
        if exists(path) {
            remount_read_only(path)?;
        }
    }
    for path in &sandbox.secret.blanked {
        // An error if the file has been moved since it was found: the uncovered file could be read.
        mount_bind("/dev/null", path.as_std()).map_err(problem(path))?;
    }
    for path in &sandbox.secret.hidden {
        cover(path)?;
    }
    for path in sandbox.secret.sealed.iter().filter(|path| exists(path)) {
        seal(path, &sandbox.writable.roots)?;
    }
    Ok(())
}

/// Opens the writable directories below shared temporary ones, so that they can be mounted again
/// after the shared ones are replaced.
fn roots_below_temp(sandbox: &Sandbox) -> Result<Vec<(AbsPath, OwnedFd)>, String> {
    let below = |root: &&AbsPath| {
        sandbox.writable.temp.iter().any(|temp| *root != &temp.at && root.starts_with(&temp.at))
    };
    let open = |root: &AbsPath| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory =
            rustix::fs::openat(CWD, root.as_str(), flags, Mode::empty()).map_err(problem(root))?;
        Ok((root.clone(), directory))
    };
    let mut roots: Vec<_> = sandbox.writable.roots.iter().filter(below).filter(|root| exists(root)).collect();
    roots.sort();
    roots.into_iter().map(open).collect()
}

/// Mounts the session's temporary files over the shared ones as an overlay. If the kernel does not
/// support that, or the two overlap, only the session's own files are visible.
fn private_temp(temp: &PrivateTemp) -> Result<(), String> {
    let (upper, work) = (temp.files(), temp.work());
    let plain = ![&temp.at, &upper, &work].iter().any(|path| path.as_str().contains([',', ':', '\\']));
    let data = format!("lowerdir={},upperdir={upper},workdir={work},userxattr", temp.at);
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    if plain
        && let Ok(data) = CString::new(data)
        && mount("overlay", temp.at.as_std(), "overlay", flags, data.as_c_str()).is_ok()
    {
        return Ok(());
    }
    mount_bind(upper.as_std(), temp.at.as_std()).map_err(problem(&temp.at))
}

/// Returns the paths that must stay in place: writable directories, and the directories between
/// them and the guarded or hidden paths in them. Parents come before their children.
fn mount_points(sandbox: &Sandbox) -> BTreeSet<AbsPath> {
    let mut mount_points: BTreeSet<_> = sandbox.writable.roots.iter().cloned().collect();
    let shared = |path: &AbsPath| sandbox.writable.temp.iter().any(|temp| &temp.at == path);
    mount_points.retain(|root| exists(root) && !shared(root));
    let pinned = sandbox.protected.pinned.iter().filter(|path| !sandbox.writable.roots.contains(path));
    mount_points.extend(pinned.cloned());
    for path in
        sandbox.protected.guarded.iter().chain(&sandbox.secret.hidden).chain(&sandbox.protected.pinned)
    {
        if !exists(path) {
            continue;
        }
        let mut above = path.parent();
        while let Some(directory) = above {
            if !sandbox.writable.roots.iter().any(|root| directory.starts_with(root) && &directory != root) {
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

/// Makes a path read-only. A remount has to repeat the restrictions of the existing mount, or the
/// kernel refuses it.
fn remount_read_only(path: &AbsPath) -> Result<(), String> {
    mount_bind(path.as_std(), path.as_std()).map_err(problem(path))?;
    let known = rustix::fs::statvfs(path.as_std()).map_err(problem(path))?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (held, flag) in [
        (rustix::fs::StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (rustix::fs::StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (rustix::fs::StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
    ] {
        if known.contains(held) {
            flags |= flag;
        }
    }
    mount_remount(path.as_std(), flags, "").map_err(problem(path))
}

/// Mounts something empty over a file or directory.
fn cover(path: &AbsPath) -> Result<(), String> {
    let Ok(found) = std::fs::symlink_metadata(path.as_std()) else { return Ok(()) };
    match found.is_dir() {
        true => {
            let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("tmpfs", path.as_std(), "tmpfs", flags, c"size=4k,mode=0500").map_err(problem(path))
        }
        false => mount_bind("/dev/null", path.as_std()).map_err(problem(path)),
    }
}

/// Mounts something empty over a directory, and in it again those of the writable directories that
/// are below it, with everything that is mounted in them.
fn seal(path: &AbsPath, writable: &[AbsPath]) -> Result<(), String> {
    let mut roots: Vec<_> = writable.iter().filter(|root| root.starts_with(path) && *root != path).collect();
    // One within another comes with it.
    roots.sort();
    roots.dedup_by(|later, earlier| later.starts_with(earlier));
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = |root: &AbsPath| {
        rustix::fs::openat2(CWD, root.as_str(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
    };
    let kept: Vec<_> = roots.into_iter().filter_map(|root| Some((root, open(root)?))).collect();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", path.as_std(), "tmpfs", flags, c"size=64k,mode=0500").map_err(problem(path))?;
    for (root, directory) in kept {
        std::fs::create_dir_all(root.as_std()).map_err(problem(root))?;
        let source = format!("/proc/self/fd/{}", directory.as_raw_fd());
        mount_bind_recursive(source, root.as_std()).map_err(problem(root))?;
    }
    mount_remount(path.as_std(), MountFlags::BIND | MountFlags::RDONLY | flags, "").map_err(problem(path))
}
