//! The namespaces of a room, and those of a command in it.

use super::{capabilities, routes};
use crate::Network;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::fmt::Display;
use std::os::fd::{AsFd, OwnedFd};

/// Enters new user and mount namespaces and, unless the network of this machine is used, a network
/// namespace.
pub(super) fn create(network: Network) -> Result<(), String> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS;
    if network != Network::Open {
        flags |= UnshareFlags::NEWNET;
    }
    unshare(flags).map_err(problem("namespaces"))?;
    // The user and group ids stay the same, so that files keep their owner.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    if network != Network::Open {
        // The loopback interface gives no access to the network, but lets commands reach the test
        // servers of the session. If it cannot be brought up, they run without it.
        routes::loopback_up().ok();
    }
    Ok(())
}

/// Enters the namespaces of a room, which are those of the user, the mounts and the network, and
/// then mount and IPC namespaces of the command, and with `processes` a PID namespace whose first
/// process will be the next child.
pub(super) fn join(room: &[OwnedFd], processes: bool) -> Result<(), String> {
    let kinds = [LinkNameSpaceType::User, LinkNameSpaceType::Mount, LinkNameSpaceType::Network];
    for (namespace, kind) in room.iter().zip(kinds) {
        // The network of this machine is not entered, and need not be.
        let result = move_into_link_name_space(namespace.as_fd(), Some(kind));
        if let Err(error) = result
            && (kind != LinkNameSpaceType::Network || !is_current(namespace))
        {
            return Err(problem(format!("the room's {kind:?} namespace"))(error));
        }
    }
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if processes {
        flags |= UnshareFlags::NEWPID;
    }
    unshare(flags).map_err(problem("namespaces"))?;
    capabilities::hand_on()
}

/// Enters the user and the network namespace of a room, and no other.
pub(super) fn join_network(room: &[OwnedFd]) -> Result<(), String> {
    let [user, _, network] = room else { return Err("a room has three namespaces".to_owned()) };
    for (namespace, kind) in [(user, LinkNameSpaceType::User), (network, LinkNameSpaceType::Network)] {
        move_into_link_name_space(namespace.as_fd(), Some(kind))
            .map_err(problem(format!("the room's {kind:?} namespace")))?;
    }
    Ok(())
}

/// Returns whether a network namespace is that of this process.
fn is_current(namespace: &OwnedFd) -> bool {
    let id = |found: rustix::fs::Stat| (found.st_dev, found.st_ino);
    let current = rustix::fs::stat("/proc/self/ns/net").map(id);
    current.is_ok() && current == rustix::fs::fstat(namespace).map(id)
}

/// Wraps `unshare`. Only flags that do not affect file descriptors are used here; the other ones
/// are why the replacement is `unsafe`.
#[expect(deprecated, reason = "its successor is `unsafe` for flags that are not used here")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(problem(path))
}

pub(super) fn problem<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}
