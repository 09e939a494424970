//! The ports at which programs of a network namespace listen.

use super::netlink;
use crate::tcp_entries;
use rustix::net::AddressFamily;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `TCP_LISTEN`, as a set of states.
const LISTEN: u32 = 1 << 10;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// The size of `inet_diag_sockid`, in bytes.
const SOCKET: usize = 48;

/// The tables of TCP sockets. A kernel without IPv6 lacks the second one.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// The TCP ports at which programs of a network namespace listen.
#[derive(Debug)]
pub(super) struct Listeners {
    diag: OwnedFd,
    tables: Vec<File>,
}

impl Listeners {
    /// The number of descriptors.
    pub(super) const DESCRIPTORS: usize = 3;

    /// Returns those of the network namespace of this process.
    pub(super) fn here() -> io::Result<Self> {
        let first = File::open(TABLES[0])?;
        let second = File::open(TABLES[1]).or_else(|_| first.try_clone())?;
        Ok(Self { diag: netlink::diag()?, tables: vec![first, second] })
    }

    /// Returns what another process has sent as [`Self::DESCRIPTORS`] descriptors.
    pub(super) fn of(diag: OwnedFd, tables: impl Iterator<Item = OwnedFd>) -> Self {
        Self { diag, tables: tables.map(File::from).collect() }
    }

    /// Returns the descriptors, to be sent to another process.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.diag.as_fd()).chain(self.tables.iter().map(AsFd::as_fd))
    }

    /// Returns the ports.
    ///
    /// The kernel is asked for sockets that listen, which takes microseconds. Its tables have the
    /// connections too, of all namespaces, and reading them takes milliseconds; they are read where
    /// the kernel does not tell.
    pub(super) fn ports(&self) -> BTreeSet<u16> {
        self.asked().unwrap_or_else(|_| self.read().unwrap_or_default())
    }

    /// Asks sock_diag(7).
    fn asked(&self) -> rustix::io::Result<BTreeSet<u16>> {
        let mut found = BTreeSet::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            let family = u8::try_from(family.as_raw()).map_err(|_| rustix::io::Errno::INVAL)?;
            // `inet_diag_req_v2`: no extensions, and no particular socket.
            let request = [&[family, TCP, 0, 0][..], &LISTEN.to_ne_bytes(), &[0; SOCKET]].concat();
            // `inet_diag_msg`: four bytes, then the port.
            let port = |socket: &[u8]| Some(u16::from_be_bytes(socket.get(4..6)?.try_into().ok()?));
            netlink::sockets(&self.diag, &request, |socket| found.extend(port(socket)))?;
        }
        Ok(found)
    }

    fn read(&self) -> io::Result<BTreeSet<u16>> {
        let mut found = BTreeSet::new();
        for mut table in &self.tables {
            let mut text = String::new();
            table.seek(SeekFrom::Start(0))?;
            table.read_to_string(&mut text)?;
            let listeners = tcp_entries(&text).filter(|entry| entry.listens);
            found.extend(listeners.map(|entry| entry.local.port()));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn ports_with_listeners_are_found() {
        let listeners = ["127.0.0.1:0", "[::1]:0"].map(|address| TcpListener::bind(address).ok());
        let addresses: Vec<_> =
            listeners.iter().flatten().map(|listener| listener.local_addr().unwrap()).collect();
        let client = TcpStream::connect(addresses[0]).unwrap();
        let here = Listeners::here().unwrap();
        for found in [here.ports(), here.read().unwrap(), here.ports()] {
            assert!(addresses.iter().all(|address| found.contains(&address.port())), "{found:?}");
            assert!(!found.contains(&client.local_addr().unwrap().port()));
        }
    }
}
