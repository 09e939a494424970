//! A private `/dev` for the command: a few devices, and its own terminals and shared memory.

use super::namespaces::problem;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MountFlags, mount, mount_bind};
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;

/// Devices that are safe to share. `/dev/tty` is not included: it refers to the user's terminal.
const SHARED: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Links that programs expect.
const LINKS: [(&str, &str); 5] = [
    ("pts/ptmx", "/dev/ptmx"),
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// Devices and device directories that every program may write to.
pub(super) const WRITABLE: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/pts", "/dev/shm"];

/// Mounts a private `/dev`.
pub(super) fn private() -> Result<(), String> {
    let mut held = Vec::with_capacity(SHARED.len());
    for name in SHARED {
        let path = format!("/dev/{name}");
        let device: OwnedFd =
            rustix::fs::openat(CWD, path.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
                .map_err(problem(&path))?;
        held.push((path, device));
    }
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("tmpfs", "/dev", "tmpfs", flags, c"mode=0755,size=64k").map_err(problem("/dev"))?;
    for (path, device) in held {
        fs::write(&path, "").map_err(problem(&path))?;
        let source = format!("/proc/self/fd/{}", device.as_raw_fd());
        mount_bind(source, path.as_str()).map_err(problem(&path))?;
    }
    for directory in ["/dev/pts", "/dev/shm"] {
        fs::create_dir(directory).map_err(problem(directory))?;
    }
    mount("devpts", "/dev/pts", "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")
        .map_err(problem("/dev/pts"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", "/dev/shm", "tmpfs", flags, c"mode=1777").map_err(problem("/dev/shm"))?;
    LINKS.into_iter().try_for_each(|(target, link)| symlink(target, link).map_err(problem(link)))
}
