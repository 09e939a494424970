//! The Unix sockets of a room's commands, by the files that they are bound to.

use super::netlink;
use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, RecvFlags};
use std::collections::HashSet;
use std::os::linux::fs::MetadataExt;

/// A file: the device, and the 32 bits of the inode's number that the kernel tells.
type FileId = (u32, u32, u32);

/// The files to which sockets of this network namespace are bound.
#[derive(Debug, Default)]
pub(super) struct OwnSockets(HashSet<FileId>);

impl OwnSockets {
    /// Asks the kernel. A kernel that does not tell has none.
    pub(super) fn read() -> Self {
        Self(files().unwrap_or_default())
    }

    /// Returns whether a socket of this network namespace is bound to a file.
    pub(super) fn has(&self, file: &std::fs::Metadata) -> bool {
        let device = file.st_dev();
        #[expect(clippy::cast_possible_truncation, reason = "the kernel tells no more")]
        let inode = file.st_ino() as u32;
        self.0.contains(&(rustix::fs::major(device), rustix::fs::minor(device), inode))
    }
}

/// `SOCK_DIAG_BY_FAMILY`; see sock_diag(7).
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST` and `NLM_F_DUMP`.
const DUMP: u16 = netlink::REQUEST | 0x300;
/// `UDIAG_SHOW_VFS`.
const SHOW_FILE: u32 = 2;
/// `UNIX_DIAG_VFS`.
const FILE: u16 = 1;
/// The size of `unix_diag_msg`.
const SOCKET: usize = 16;

fn files() -> rustix::io::Result<HashSet<FileId>> {
    let family = u8::try_from(AddressFamily::UNIX.as_raw()).map_err(|_| rustix::io::Errno::INVAL)?;
    // All states, and no particular socket.
    let body = [
        &[family, 0, 0, 0][..],
        &u32::MAX.to_ne_bytes(),
        &0u32.to_ne_bytes(),
        &SHOW_FILE.to_ne_bytes(),
        &[0xff; 8],
    ];
    let socket = netlink::send(Some(SOCK_DIAG), BY_FAMILY, DUMP, &body.concat())?;
    let mut found = HashSet::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let (length, _) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        let mut rest = &buffer[..length];
        while let Some((kind, body, after)) = message(rest) {
            if kind != BY_FAMILY {
                // The end of the answer, or an error.
                return Ok(found);
            }
            found.extend(body.get(SOCKET..).and_then(file));
            rest = after;
        }
    }
}

/// Splits off a message: its type and its body.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(number(bytes, 0)?).ok()?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(netlink::HEADER..length)?;
    Some((kind, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// Returns the file among the attributes of a socket.
fn file(mut attributes: &[u8]) -> Option<FileId> {
    loop {
        let length = usize::from(u16::from_ne_bytes(attributes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(attributes.get(2..4)?.try_into().ok()?);
        if kind == FILE {
            let (inode, device) = (number(attributes, 4)?, number(attributes, 8)?);
            // As the kernel numbers devices: twelve bits and twenty.
            return Some((device >> 20, device & 0xf_ffff, inode));
        }
        attributes = attributes.get(length.max(4).next_multiple_of(4)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixDatagram, UnixListener};

    #[test]
    fn sockets_are_known_by_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let (_listener, _datagram) =
            (UnixListener::bind(at("a")).unwrap(), UnixDatagram::bind(at("b")).unwrap());
        drop(UnixListener::bind(at("closed")).unwrap());
        let own = OwnSockets::read();
        std::fs::hard_link(at("a"), at("linked")).unwrap();
        let known = ["a", "b", "linked", "closed"].map(|name| own.has(&at(name).metadata().unwrap()));
        // Without the module of the kernel nothing is known.
        assert!(known == [true, true, true, false] || own.0.is_empty(), "{known:?}");
    }
}
