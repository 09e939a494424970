//! The Unix sockets of a room's commands, by the files that they are bound to.

use super::netlink::{self, number};
use rustix::net::AddressFamily;
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
    let mut found = HashSet::new();
    netlink::sockets(&netlink::diag()?, &body.concat(), |socket| {
        found.extend(socket.get(SOCKET..).and_then(file))
    })?;
    Ok(found)
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
