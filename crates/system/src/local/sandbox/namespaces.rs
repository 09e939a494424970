//! Namespaces of the command's own, entered by the supervisor before it starts the inner stage.

use super::{capabilities, order::Order};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::thread::UnshareFlags;
use std::fmt::Display;

/// Enters namespaces for the user, mounts and IPC, without a network also for the network, and lets
/// the next process be the first of a namespace for processes.
pub(super) fn enter(order: &Order) -> Result<(), String> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if !order.sandbox.network {
        flags |= UnshareFlags::NEWNET;
    }
    if order.processes {
        flags |= UnshareFlags::NEWPID;
    }
    unshare(flags).map_err(problem("namespaces"))?;
    // The user stays who they are, so that the files still belong to them.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    if !order.sandbox.network {
        // A test server on 127.0.0.1 is no network; one that cannot have it is not worse off than without.
        loopback_up().ok();
    }
    capabilities::hand_on()
}

/// The flags in use here leave the file descriptors alone, which is what makes the other one unsafe.
#[expect(deprecated, reason = "its successor is `unsafe` for flags that are not used here")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
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

pub(super) fn problem<E: Display>(what: impl Display) -> impl FnOnce(E) -> String {
    move |error| format!("{what}: {error}")
}
