//! Requests to the kernel by netlink(7).

use rustix::io::Errno;
use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::os::fd::OwnedFd;

/// The size of the header of a message, in bytes.
pub(super) const HEADER: usize = 16;

/// `NLM_F_REQUEST`.
pub(super) const REQUEST: u16 = 1;

/// Returns a socket for a protocol of netlink, `None` for that of routes. It stays in the network
/// namespace of this process.
pub(super) fn socket(protocol: Option<Protocol>) -> rustix::io::Result<OwnedFd> {
    rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
}

/// Sends a request. The answer arrives at the socket.
pub(super) fn send(socket: &OwnedFd, kind: u16, flags: u16, body: &[u8]) -> rustix::io::Result<()> {
    let length = u32::try_from(HEADER + body.len()).map_err(|_| Errno::MSGSIZE)?;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    rustix::net::send(socket, &message, SendFlags::empty())?;
    Ok(())
}

/// `SOCK_DIAG_BY_FAMILY`; see sock_diag(7).
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST` and `NLM_F_DUMP`.
const DUMP: u16 = REQUEST | 0x300;
/// `NLMSG_DONE`.
const DONE: u16 = 3;

/// Returns a socket for [`sockets`].
pub(super) fn diag() -> rustix::io::Result<OwnedFd> {
    socket(Some(SOCK_DIAG))
}

/// Asks sock_diag(7) for the sockets of a network namespace that a request describes. Calls `each`
/// with the message about each of them.
///
/// # Errors
/// If the kernel does not tell.
pub(super) fn sockets(diag: &OwnedFd, request: &[u8], mut each: impl FnMut(&[u8])) -> rustix::io::Result<()> {
    send(diag, BY_FAMILY, DUMP, request)?;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (length, _) = rustix::net::recv(diag, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..length];
        while let Some((kind, body, after)) = message(rest) {
            match kind {
                BY_FAMILY => each(body),
                DONE => return Ok(()),
                _ => return Err(Errno::OPNOTSUPP),
            }
            rest = after;
        }
    }
}

/// Asks sock_diag(7) for one socket of a network namespace. Returns the message about it; `None` if
/// there is no such socket.
///
/// # Errors
/// If the kernel does not tell.
pub(super) fn socket_of(diag: &OwnedFd, request: &[u8]) -> rustix::io::Result<Option<Vec<u8>>> {
    send(diag, BY_FAMILY, REQUEST, request)?;
    let mut buffer = [0; 4096];
    let (length, _) = rustix::net::recv(diag, &mut buffer[..], RecvFlags::empty())?;
    match message(&buffer[..length]) {
        Some((BY_FAMILY, body, _)) => Ok(Some(body.to_vec())),
        // An error is a negative number.
        Some((_, body, _))
            if number(body, 0) == Some(Errno::NOENT.raw_os_error().wrapping_neg().cast_unsigned()) =>
        {
            Ok(None)
        }
        _ => Err(Errno::OPNOTSUPP),
    }
}

/// Splits off a message: its type and its body.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(number(bytes, 0)?).ok()?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(HEADER..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// Reads a number of 32 bits.
pub(super) fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
