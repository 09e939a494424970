//! Mounts and a network of the command's own: what Landlock cannot say, because it only adds rights on the way down.

use crate::{AbsPath, Sandbox};
use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind, mount_change, mount_remount};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::thread::UnshareFlags;
use std::fmt::Display;

/// Enters namespaces in which guarded paths are read-only, hidden and secret ones are empty and, without a network, there is
/// loopback only.
pub(super) fn enter(sandbox: &Sandbox, secrets: &[AbsPath]) -> Result<(), String> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS;
    if !sandbox.network {
        flags |= UnshareFlags::NEWNET;
    }
    unshare(flags).map_err(problem("namespaces"))?;
    // The user stays who they are, so that the files still belong to them.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(problem("mounts"))?;
    for path in &sandbox.guarded {
        if std::fs::symlink_metadata(path.as_std()).is_ok() {
            freeze(path)?;
        }
    }
    for path in &sandbox.covered {
        cover(path)?;
    }
    for path in secrets.iter().chain(&sandbox.hidden) {
        if std::fs::symlink_metadata(path.as_std()).is_ok_and(|found| found.is_file()) {
            mount_bind("/dev/null", path.as_std()).map_err(problem(path))?;
        }
    }
    if !sandbox.network {
        // A test server on 127.0.0.1 is no network; one that cannot have it is not worse off than without.
        loopback_up().ok();
    }
    Ok(())
}

/// The two flags in use here leave the file descriptors alone, which is what makes the other one unsafe.
#[expect(deprecated, reason = "its successor is `unsafe` for flags that are not used here")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

/// Makes a path read-only. What the mount forbids already has to be repeated, or the kernel refuses.
fn freeze(path: &AbsPath) -> Result<(), String> {
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

/// Puts a device over a file that nobody may open: to git, and to whoever copies, it is no file.
fn cover(path: &AbsPath) -> Result<(), String> {
    mount_bind("/dev/null", path.as_std()).map_err(problem(path))?;
    let flags =
        MountFlags::BIND | MountFlags::RDONLY | MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_remount(path.as_std(), flags, "").map_err(problem(path))
}

/// Turns loopback on with one netlink message: `ip link set lo up`.
fn loopback_up() -> rustix::io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const NLM_F_REQUEST: u16 = 1;
    const IFF_UP: u32 = 1;
    const LOOPBACK: i32 = 1;
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let mut message = Vec::with_capacity(32);
    message.extend(32u32.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend([0; 8]);
    message.extend([0; 4]);
    message.extend(LOOPBACK.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    rustix::net::send(&socket, &message, SendFlags::empty()).map(|_| ())
}

fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(problem(path))
}

fn problem<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}
