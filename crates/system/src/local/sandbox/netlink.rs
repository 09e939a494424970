//! Requests to the kernel by netlink(7).

use rustix::net::{AddressFamily, Protocol, SendFlags, SocketFlags, SocketType};
use std::os::fd::OwnedFd;

/// The size of the header of a message, in bytes.
pub(super) const HEADER: usize = 16;

/// `NLM_F_REQUEST`.
pub(super) const REQUEST: u16 = 1;

/// Sends a request by a protocol of netlink, `None` for that of routes. Returns the socket at which
/// the answer arrives.
pub(super) fn send(
    protocol: Option<Protocol>,
    kind: u16,
    flags: u16,
    body: &[u8],
) -> rustix::io::Result<OwnedFd> {
    let socket =
        rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?;
    let length = u32::try_from(HEADER + body.len()).map_err(|_| rustix::io::Errno::MSGSIZE)?;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    rustix::net::send(&socket, &message, SendFlags::empty())?;
    Ok(socket)
}
