//! The files of a room. A new root is assembled from what the view names, and replaces the old one,
//! of which nothing is left.
//!
//! A mount point may lie in a directory that commands wrote in, such as that of the session's home.
//! Therefore mount points are opened below the new root without following links.

use super::{
    home, names,
    root::{Root, cover, name_of, open_directory, open_named},
    signing,
};
use crate::local::sandbox::{devices, namespaces::problem};
use crate::view::SYSTEM_DIRECTORIES;
use crate::{AbsPath, Network, TEMP_PLACE, View};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The directory on which the new root is assembled. What was in it is not needed any more: the
/// devices are opened before.
const BUILD: &str = "/dev";

/// How deep `/etc` is searched for files that only root can read.
const PRIVATE_DEPTH: usize = 8;

/// Builds the view and makes it the root of this process.
pub(super) fn build(view: &View, network: Network) -> Result<(), String> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(problem("mounts"))?;
    let sources = Sources::open(view)?;
    let devices = devices::open()?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", BUILD, "tmpfs", flags, c"mode=0755,size=1m").map_err(problem("the new root"))?;
    let root = Root(open_directory(BUILD).map_err(problem(BUILD))?);
    for path in SYSTEM_DIRECTORIES {
        root.system_directory(path)?;
    }
    if fs::symlink_metadata("/home").is_ok_and(|found| found.is_symlink()) {
        root.system_directory("/home")?;
    }
    root.resolver()?;
    let proc = root.directory("/proc")?;
    mount_bind_recursive("/proc", name_of(&proc)).map_err(problem("/proc"))?;
    devices::mount_below(BUILD, devices)?;
    if let Some((path, temp)) = &sources.temp {
        for place in [TEMP_PLACE.as_ref(), path.as_std()] {
            root.bind(temp, &root.directory(place)?, place.display())?;
        }
    } else {
        root.directory(TEMP_PLACE)?;
    }
    if let Some((path, copies)) = &sources.copies {
        root.bind(copies, &root.directory(path.as_std())?, path)?;
    }
    if let Some((home, files)) = &sources.home {
        root.bind(files, &root.directory(home.at.as_std())?, &home.at)?;
        home::share(&root, home)?;
    }
    for (path, source, writable) in &sources.named {
        root.show(path, source, *writable)?;
    }
    std::env::set_current_dir(BUILD).map_err(problem(BUILD))?;
    rustix::process::pivot_root(".", ".").map_err(problem("the new root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(problem("the old root"))?;
    std::env::set_current_dir("/").map_err(problem("/"))?;
    if network == Network::Session {
        names::cover()?;
        signing::place()?;
    }
    if rustix::process::geteuid().is_root() {
        cover_private("/etc".as_ref(), PRIVATE_DEPTH)?;
        cover_private("/var/lib".as_ref(), 1)?;
    }
    mount_remount("/", MountFlags::BIND | MountFlags::RDONLY | flags, "").map_err(problem("/"))
}

/// The files of the view, opened before anything is mounted over them.
struct Sources<'a> {
    temp: Option<(&'a AbsPath, OwnedFd)>,
    copies: Option<(&'a AbsPath, OwnedFd)>,
    home: Option<(&'a crate::HomeView, OwnedFd)>,
    /// The roots and what is readable, parents before their children. `true` for what is writable.
    named: Vec<(AbsPath, OwnedFd, bool)>,
}

impl<'a> Sources<'a> {
    fn open(view: &'a View) -> Result<Self, String> {
        let own = |path: &AbsPath| open_directory(path.as_std()).map_err(problem(path));
        let with_path = |path| own(path).map(|source| (path, source));
        let temp = view.temp.as_ref().map(with_path).transpose()?;
        let copies = view.copies.as_ref().map(with_path).transpose()?;
        let home = view.home.as_ref();
        let home = home.map(|home| own(&home.files).map(|source| (home, source))).transpose()?;
        let mut named: Vec<_> = view.writable().map(|path| (path.clone(), true)).collect();
        named.extend(view.readable.iter().map(|path| (path.clone(), false)));
        named.extend(visible_files(view).into_iter().map(|path| (path, false)));
        named.sort();
        named.dedup_by(|later, earlier| later.0 == earlier.0 && (earlier.1 || !later.1));
        let named = within_no_root(named);
        let mut opened = Vec::with_capacity(named.len());
        for (path, writable) in named {
            match open_named(&path) {
                Ok(source) => opened.push((path, source, writable)),
                Err(Errno::NOENT | Errno::ACCESS) => {}
                Err(Errno::LOOP) => return Err(format!("{path} has become a link")),
                Err(error) => return Err(problem(&path)(error)),
            }
        }
        Ok(Self { temp, copies, home, named: opened })
    }
}

/// Leaves out what lies in a writable directory: a second path to a file would have its own mount,
/// to which guards do not apply.
fn within_no_root(named: Vec<(AbsPath, bool)>) -> Vec<(AbsPath, bool)> {
    let roots: Vec<_> =
        named.iter().filter(|(_, writable)| *writable).map(|(path, _)| path.clone()).collect();
    let is_within = |path: &AbsPath| roots.iter().any(|root| path != root && path.starts_with(root));
    named.into_iter().filter(|(path, _)| !is_within(path)).collect()
}

/// Returns the visible files of a home directory that a session works in. Hidden ones are keys and
/// settings.
fn visible_files(view: &View) -> Vec<AbsPath> {
    let Some(home) = view.home.as_ref().filter(|home| view.roots.contains(&home.at)) else {
        return Vec::new();
    };
    let entries = fs::read_dir(home.at.as_std()).into_iter().flatten().flatten();
    let visible = entries.filter_map(|entry| {
        let name = entry.file_name();
        let name = name.to_str().filter(|name| !name.starts_with('.'))?;
        let is_plain = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file());
        is_plain.then(|| home.at.join(name))
    });
    visible.take(MOST_VISIBLE).collect()
}

/// Maximum number of files that a session in the home directory shows to commands.
const MOST_VISIBLE: usize = 512;

/// Covers what other users cannot read. Commands of root would be able to.
fn cover_private(directory: &Path, depth: usize) -> Result<(), String> {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        // Links are most of what is there, and their targets are found by themselves.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        let (path, Ok(found)) = (entry.path(), entry.metadata()) else { continue };
        let readable = if found.is_dir() { 0o005 } else { 0o004 };
        if found.mode() & readable != readable {
            cover(&path).map_err(problem(path.display()))?;
        } else if found.is_dir() && depth > 1 {
            cover_private(&path, depth - 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_writable_directory_is_mounted_twice() {
        let named =
            [("/w", true), ("/w/a", false), ("/w/b", true), ("/r", false), ("/r/x", true), ("/wide", false)];
        let named = named.map(|(path, writable)| (AbsPath::new(path).unwrap(), writable));
        let left = within_no_root(named.to_vec());
        let left: Vec<_> = left.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(left, ["/w", "/r", "/r/x", "/wide"]);
    }
}
