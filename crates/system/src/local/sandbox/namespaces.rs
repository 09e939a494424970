//! The command's own namespaces. The supervisor enters them before it starts the inner stage.

use super::{capabilities, launch_request::LaunchRequest};
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use rustix::thread::UnshareFlags;
use std::fmt::Display;

/// Enters new user, mount and IPC namespaces, a network namespace if the command has no network,
/// and a PID namespace whose first process will be the next child.
pub(super) fn enter(request: &LaunchRequest) -> Result<(), String> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWIPC;
    if !request.sandbox.network {
        flags |= UnshareFlags::NEWNET;
    }
    if request.processes {
        flags |= UnshareFlags::NEWPID;
    }
    unshare(flags).map_err(problem("namespaces"))?;
    // The user and group ids stay the same, so that files keep their owner.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    if !request.sandbox.network {
        // The loopback interface gives no access to the network, but lets a command reach its own
        // test server. If it cannot be brought up, the command runs without it.
        loopback_up().ok();
    }
    capabilities::hand_on()
}

/// Wraps `unshare`. Only flags that do not affect file descriptors are used here; the other ones
/// are why the replacement is `unsafe`.
#[expect(deprecated, reason = "its successor is `unsafe` for flags that are not used here")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

/// Brings up the loopback interface with one netlink message, like `ip link set lo up`.
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
