//! A private `/dev` for the command: a few devices, and its own terminals and shared memory.

use super::namespaces::problem;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{MountFlags, mount, mount_bind};
use std::fs::{self, Permissions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};

/// Devices that are safe to share. `/dev/tty` is not included: it refers to the user's terminal.
const SHARED: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Links that programs expect.
const LINKS: [(&str, &str); 5] = [
    ("pts/ptmx", "ptmx"),
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
];

/// Devices and device directories that every program may write to.
pub(super) const WRITABLE: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/pts", "/dev/shm"];

/// The directory of a room for links to copies of control files. Commands cannot write to it.
pub(super) const LINKED: &str = "/dev/.linked";

/// A file of a room that commands cannot read, which covers files that they must not read.
pub(super) const UNREADABLE: &str = "/dev/.unreadable";

/// The devices that are shared, opened before they are covered.
pub(super) struct Devices(Vec<(&'static str, OwnedFd)>);

/// Opens the devices.
pub(super) fn open() -> Result<Devices, String> {
    let open = |name: &'static str| {
        let path = format!("/dev/{name}");
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let device = rustix::fs::openat(CWD, path.as_str(), flags, Mode::empty()).map_err(problem(&path))?;
        Ok((name, device))
    };
    SHARED.into_iter().map(open).collect::<Result<_, String>>().map(Devices)
}

/// Mounts a private `/dev` below `root`.
pub(super) fn mount_below(root: &str, Devices(devices): Devices) -> Result<(), String> {
    let dev = format!("{root}/dev");
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    fs::create_dir(&dev).map_err(problem(&dev))?;
    mount("tmpfs", dev.as_str(), "tmpfs", flags, c"mode=0755,size=64k").map_err(problem("/dev"))?;
    for (name, device) in devices {
        let path = format!("{dev}/{name}");
        fs::write(&path, "").map_err(problem(&path))?;
        let source = format!("/proc/self/fd/{}", device.as_raw_fd());
        mount_bind(source, path.as_str()).map_err(problem(&path))?;
    }
    let [pts, shm] = ["pts", "shm"].map(|name| format!("{dev}/{name}"));
    let linked = format!("{root}{LINKED}");
    for directory in [&pts, &shm, &linked] {
        fs::create_dir(directory).map_err(problem(directory))?;
    }
    let unreadable = format!("{root}{UNREADABLE}");
    fs::write(&unreadable, "").map_err(problem(&unreadable))?;
    fs::set_permissions(&unreadable, Permissions::from_mode(0o000)).map_err(problem(&unreadable))?;
    mount("devpts", pts.as_str(), "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")
        .map_err(problem(&pts))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", shm.as_str(), "tmpfs", flags, c"mode=1777").map_err(problem(&shm))?;
    let link = |(target, name)| symlink(target, format!("{dev}/{name}")).map_err(problem(name));
    LINKS.into_iter().try_for_each(link)
}
