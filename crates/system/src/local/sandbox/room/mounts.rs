//! The files of a room. A new root is assembled from what the view names, and replaces the old one,
//! of which nothing is left.
//!
//! A mount point may lie in a directory that commands wrote in, such as that of the session's home.
//! Therefore mount points are opened below the new root without following links.

use super::home;
use crate::local::sandbox::{devices, namespaces::problem};
use crate::view::SYSTEM_DIRECTORIES;
use crate::{AbsPath, TEMP_PLACE, View};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

/// The directory on which the new root is assembled. What was in it is not needed any more: the
/// devices are opened before.
const BUILD: &str = "/dev";

/// How deep `/etc` is searched for files that only root can read.
const PRIVATE_DEPTH: usize = 8;

/// Builds the view and makes it the root of this process.
pub(super) fn build(view: &View) -> Result<(), String> {
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
        for place in [TEMP_PLACE, path.as_str()] {
            root.bind(temp, &root.directory(place)?, place)?;
        }
    } else {
        root.directory(TEMP_PLACE)?;
    }
    if let Some((path, copies)) = &sources.copies {
        root.bind(copies, &root.directory(path.as_str())?, path)?;
    }
    if let Some((home, files)) = &sources.home {
        root.bind(files, &root.directory(home.at.as_str())?, &home.at)?;
        home::share(&root, home)?;
    }
    for (path, source, writable) in &sources.named {
        root.show(path, source, *writable)?;
    }
    std::env::set_current_dir(BUILD).map_err(problem(BUILD))?;
    rustix::process::pivot_root(".", ".").map_err(problem("the new root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(problem("the old root"))?;
    std::env::set_current_dir("/").map_err(problem("/"))?;
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
        let own = |path: &AbsPath| open_directory(path.as_str()).map_err(problem(path));
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

fn open_directory(path: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty())
}

/// Opens a path without links.
fn open_named(path: &AbsPath) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path.as_str(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Returns a path that leads to what a descriptor refers to.
pub(super) fn name_of(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// The root under construction.
pub(super) struct Root(OwnedFd);

impl Root {
    /// Returns a directory for a mount, and creates it with its parents. An entry that is no
    /// directory, which only commands can have put there, is renamed.
    pub(super) fn directory(&self, path: &str) -> Result<OwnedFd, String> {
        self.make(path, true)
    }

    /// Returns an empty file for a mount.
    pub(super) fn file(&self, path: &str) -> Result<OwnedFd, String> {
        self.make(path, false)
    }

    fn make(&self, path: &str, is_directory: bool) -> Result<OwnedFd, String> {
        let fail = |error: Errno| problem(path)(error);
        let mut directory = self.0.try_clone().map_err(problem(path))?;
        let names: Vec<_> = path.split('/').filter(|name| !name.is_empty()).collect();
        for (at, name) in names.iter().enumerate() {
            let wants_directory = is_directory || at + 1 < names.len();
            let found = rustix::fs::statat(&directory, *name, AtFlags::SYMLINK_NOFOLLOW);
            let found = found.map(|found| FileType::from_raw_mode(found.st_mode)).ok();
            let wanted = if wants_directory { FileType::Directory } else { FileType::RegularFile };
            if found.is_some_and(|found| found != wanted) {
                let aside = format!("{name}.aside-{}", std::process::id());
                rustix::fs::renameat(&directory, *name, &directory, &aside).map_err(fail)?;
            }
            if found != Some(wanted) {
                match wants_directory {
                    true => rustix::fs::mkdirat(&directory, *name, Mode::from(0o755)),
                    false => {
                        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                        rustix::fs::openat(&directory, *name, flags, Mode::from(0o644)).map(drop)
                    }
                }
                .map_err(fail)?;
            }
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            directory = rustix::fs::openat(&directory, *name, flags, Mode::empty()).map_err(fail)?;
        }
        Ok(directory)
    }

    /// Mounts what a descriptor refers to.
    pub(super) fn bind(
        &self,
        source: &OwnedFd,
        target: &OwnedFd,
        name: impl std::fmt::Display,
    ) -> Result<(), String> {
        mount_bind_recursive(name_of(source), name_of(target)).map_err(problem(name))
    }

    /// Mounts a file or directory at its own path.
    pub(super) fn show(&self, path: &AbsPath, source: &OwnedFd, writable: bool) -> Result<(), String> {
        let found = rustix::fs::fstat(source).map_err(problem(path))?;
        let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let target = || self.make(path.as_str(), is_directory);
        self.bind(source, &target()?, path)?;
        match writable {
            true => Ok(()),
            // The descriptor of before refers to what the mount covers.
            false => read_only(&name_of(&target()?)).map_err(problem(path)),
        }
    }

    /// Shows a directory of the system, or the link that stands for it.
    fn system_directory(&self, path: &str) -> Result<(), String> {
        let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
        if found.is_dir() {
            let path = AbsPath::new(path).map_err(problem(path))?;
            let source = open_directory(path.as_str()).map_err(problem(&path))?;
            return self.show(&path, &source, false);
        }
        if found.is_symlink() {
            let target = fs::read_link(path).map_err(problem(path))?;
            let parent = Path::new(path).parent().and_then(Path::to_str).unwrap_or_default();
            let (parent, name) = (self.directory(parent)?, Path::new(path).file_name().unwrap_or_default());
            symlink(target, Path::new(&name_of(&parent)).join(name)).map_err(problem(path))?;
        }
        Ok(())
    }

    /// Shows the file that names the servers for name resolution, where it is a link to a place
    /// outside of the system's directories.
    fn resolver(&self) -> Result<(), String> {
        let real = fs::canonicalize("/etc/resolv.conf").ok().and_then(|real| AbsPath::from_os(&real).ok());
        match real {
            Some(real) if ["/run/", "/mnt/"].iter().any(|place| real.as_str().starts_with(place)) => {
                let source = open_named(&real).map_err(problem(&real))?;
                self.show(&real, &source, false)
            }
            _ => Ok(()),
        }
    }
}

/// Makes a mount read-only. A remount has to repeat the restrictions of the existing mount, or the
/// kernel refuses it.
pub(in crate::local::sandbox) fn read_only(path: &str) -> rustix::io::Result<()> {
    let known = rustix::fs::statvfs(path)?.f_flag;
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
    mount_remount(path, flags, "")
}

/// Covers what other users cannot read. Commands of root would be able to.
fn cover_private(directory: &Path, depth: usize) -> Result<(), String> {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        let readable = if found.is_dir() { 0o005 } else { 0o004 };
        if found.is_symlink() {
            continue;
        }
        if found.mode() & readable != readable {
            cover(&path).map_err(problem(path.display()))?;
        } else if found.is_dir() && depth > 1 {
            cover_private(&path, depth - 1)?;
        }
    }
    Ok(())
}

/// Mounts something empty over a file or directory. Something that does not exist is left out.
pub(in crate::local::sandbox) fn cover(path: &Path) -> rustix::io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    match found.is_dir() {
        true => {
            let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
            mount("tmpfs", path, "tmpfs", flags, c"size=4k,mode=0500")
        }
        false => rustix::mount::mount_bind("/dev/null", path),
    }
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
