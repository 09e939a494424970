//! What a confined command cannot change or read of the room's files. Covers what Landlock cannot
//! express, because a Landlock rule can only add rights for the files below a directory. Runs in
//! the inner stage, in its own mount and PID namespaces.
//!
//! A mount point can be neither renamed nor removed. Therefore every path that must stay in place
//! is bind-mounted onto itself, and so is every directory between it and the writable directory
//! that contains it.

use super::{
    devices,
    launch_request::LaunchRequest,
    namespaces::problem,
    own_sockets::OwnSockets,
    room::{cover, read_only},
};
use crate::{AbsPath, LinkedFile, Sandbox};
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_bind_recursive, mount_change, move_mount, open_tree, unmount,
};
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::Path;

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
    guard(sandbox)?;
    for path in &sandbox.secret.blanked {
        // An error if the file has been moved since it was found: the uncovered file could be read.
        mount_bind(devices::UNREADABLE, path.as_std()).map_err(problem(path))?;
        read_only(path.as_std()).map_err(problem(path))?;
    }
    cover_sockets(&sandbox.protected.sockets)?;
    for path in &sandbox.secret.hidden {
        cover(path.as_std()).map_err(problem(path))?;
    }
    Ok(())
}

/// Mounts what guards the files that commands cannot change, where it is not in place: a program
/// outside of the room that replaces such a file takes the mount away.
pub(super) fn guard(sandbox: &Sandbox) -> Result<(), String> {
    for path in sandbox.protected.guarded.iter().filter(|path| exists(path) && !is_read_only(path)) {
        mount_bind(path.as_std(), path.as_std()).map_err(problem(path))?;
        read_only(path.as_std()).map_err(problem(path))?;
    }
    for folder in &sandbox.protected.folders {
        let id =
            |path: &AbsPath| std::fs::symlink_metadata(path.as_std()).map(|found| (found.dev(), found.ino()));
        if exists(&folder.path) && id(&folder.path).ok() != id(&folder.copy).ok() {
            mount_bind(folder.copy.as_std(), folder.path.as_std()).map_err(problem(&folder.path))?;
        }
    }
    for file in &sandbox.protected.linked {
        let is_link = std::fs::symlink_metadata(file.path.as_std()).map(|found| found.is_symlink());
        if matches!(is_link, Ok(false)) {
            link(file)?;
        }
    }
    Ok(())
}

/// Lets the command find a directory that was renamed to `name` at its old path only. Other
/// programs find an empty directory there, which stays when the command ends.
pub(super) fn place(path: &Path, name: &Path) -> Result<(), String> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(problem(path.display())(error));
        }
        _ => {}
    }
    mount_bind(name, path).map_err(problem(path.display()))?;
    cover(name).map_err(problem(name.display()))
}

/// Lets this process find what other programs find at a path.
pub(super) fn unplace(path: &Path) {
    unmount(path, UnmountFlags::DETACH).ok();
}

fn is_read_only(path: &AbsPath) -> bool {
    rustix::fs::statvfs(path.as_std())
        .is_ok_and(|found| found.f_flag.contains(rustix::fs::StatVfsMountFlags::RDONLY))
}

/// Mounts a symbolic link to the copy over a file. A program that replaces the file, such as git,
/// follows the link and replaces the copy; the name itself cannot be written, moved or removed.
fn link(file: &LinkedFile) -> Result<(), String> {
    let name = file.copy.file_name().unwrap_or_default();
    let source = format!("{}/{name}", devices::LINKED);
    match symlink(file.copy.as_std(), &source) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(problem(&source)(error)),
        _ => {}
    }
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    let mounted = open_tree(CWD, source.as_str(), flags).map_err(problem(&source))?;
    move_mount(mounted, "", CWD, file.path.as_std(), MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
        .map_err(problem(&file.path))
}

/// Returns the paths that must stay in place: the directories between a writable directory, which
/// is a mount of the room, and the guarded or hidden paths in it. Parents come before their
/// children.
fn mount_points(sandbox: &Sandbox) -> BTreeSet<AbsPath> {
    let mut mount_points: BTreeSet<_> = sandbox.protected.pinned.iter().cloned().collect();
    mount_points.retain(exists);
    let copied = sandbox.protected.linked.iter().chain(&sandbox.protected.folders);
    let copied = copied.map(|file| &file.path);
    let guarded = sandbox.protected.guarded.iter().chain(&sandbox.protected.pinned);
    for path in guarded.chain(&sandbox.secret.hidden).chain(copied) {
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

/// Covers the sockets among some paths that are not those of the room's commands.
fn cover_sockets(paths: &[AbsPath]) -> Result<(), String> {
    let found = |path: &AbsPath| std::fs::symlink_metadata(path.as_std()).ok();
    let sockets = paths.iter().filter_map(|path| Some((path, found(path)?)));
    let sockets: Vec<_> = sockets.filter(|(_, found)| found.file_type().is_socket()).collect();
    if sockets.is_empty() {
        return Ok(());
    }
    let own = OwnSockets::read();
    for (path, _) in sockets.iter().filter(|(_, found)| !own.has(found)) {
        mount_bind("/dev/null", path.as_std()).map_err(problem(path))?;
    }
    Ok(())
}

fn exists(path: &AbsPath) -> bool {
    std::fs::symlink_metadata(path.as_std()).is_ok()
}
