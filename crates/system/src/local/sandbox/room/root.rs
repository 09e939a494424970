//! The root of a room while it is assembled.

use crate::AbsPath;
use crate::local::sandbox::namespaces::problem;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind_recursive, mount_remount};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;

pub(super) fn open_directory(path: impl AsRef<Path>) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path.as_ref(), flags, Mode::empty())
}

/// Opens a path without links.
pub(super) fn open_named(path: &AbsPath) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, path.as_std(), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Returns a path that leads to what a descriptor refers to.
pub(super) fn name_of(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// The root under construction.
pub(super) struct Root(pub(super) OwnedFd);

impl Root {
    /// Returns a directory for a mount, and creates it with its parents. An entry that is no
    /// directory, which only commands can have put there, is renamed.
    pub(super) fn directory(&self, path: impl AsRef<Path>) -> Result<OwnedFd, String> {
        self.make(path.as_ref(), true)
    }

    /// Returns an empty file for a mount.
    pub(super) fn file(&self, path: impl AsRef<Path>) -> Result<OwnedFd, String> {
        self.make(path.as_ref(), false)
    }

    fn make(&self, path: &Path, is_directory: bool) -> Result<OwnedFd, String> {
        let fail = |error: Errno| problem(path.display())(error);
        let mut directory = self.0.try_clone().map_err(problem(path.display()))?;
        let names: Vec<_> = path.iter().skip(1).collect();
        for (at, name) in names.iter().enumerate() {
            let wants_directory = is_directory || at + 1 < names.len();
            let found = rustix::fs::statat(&directory, *name, AtFlags::SYMLINK_NOFOLLOW);
            let found = found.map(|found| FileType::from_raw_mode(found.st_mode)).ok();
            let wanted = if wants_directory { FileType::Directory } else { FileType::RegularFile };
            if found.is_some_and(|found| found != wanted) {
                let mut aside = name.to_os_string();
                aside.push(format!(".aside-{}", std::process::id()));
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
        let target = || self.make(path.as_std(), is_directory);
        self.bind(source, &target()?, path)?;
        match writable {
            true => Ok(()),
            // The descriptor of before refers to what the mount covers.
            false => read_only(name_of(&target()?)).map_err(problem(path)),
        }
    }

    /// Shows a directory of the system, or the link that stands for it.
    pub(super) fn system_directory(&self, path: &str) -> Result<(), String> {
        let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
        if found.is_dir() {
            let path = AbsPath::new(path).map_err(problem(path))?;
            let source = open_directory(path.as_std()).map_err(problem(&path))?;
            return self.show(&path, &source, false);
        }
        if found.is_symlink() {
            let target = fs::read_link(path).map_err(problem(path))?;
            let parent = Path::new(path).parent().unwrap_or(Path::new("/"));
            let (parent, name) = (self.directory(parent)?, Path::new(path).file_name().unwrap_or_default());
            symlink(target, Path::new(&name_of(&parent)).join(name)).map_err(problem(path))?;
        }
        Ok(())
    }

    /// Shows the file that names the servers for name resolution, where it is a link to a place
    /// outside of the system's directories.
    pub(super) fn resolver(&self) -> Result<(), String> {
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
pub(in crate::local::sandbox) fn read_only(path: impl AsRef<Path>) -> rustix::io::Result<()> {
    let path = path.as_ref();
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
