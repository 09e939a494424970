//! The TCP sockets of a network namespace: the ports at which programs listen, and to which users
//! connections belong.
//!
//! The kernel is asked by sock_diag(7), which takes microseconds. Its tables have the connections
//! of all namespaces, and reading them takes milliseconds. They are read where the kernel does not
//! tell.

use super::netlink;
use crate::tcp_table::tcp_entries;
use rustix::net::AddressFamily;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// `TCP_LISTEN`, as a set of states.
const LISTEN: u32 = 1 << 10;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// The size of `inet_diag_sockid`, in bytes.
const SOCKET: usize = 48;
/// Where the user is in `inet_diag_msg`.
const USER: usize = 64;

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
    pub(super) fn ports(&self) -> BTreeSet<u16> {
        self.asked().unwrap_or_else(|_| self.read().unwrap_or_default())
    }

    /// Asks sock_diag(7).
    fn asked(&self) -> rustix::io::Result<BTreeSet<u16>> {
        let mut found = BTreeSet::new();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            let request = request(family, LISTEN, &[0; SOCKET])?;
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

/// Returns the user whose connection from `local` to `remote` is in the network namespace of this
/// process.
pub fn user_of_connection(local: SocketAddr, remote: SocketAddr) -> Option<u32> {
    asked_user(local, remote).unwrap_or_else(|_| {
        let of_table = |path: &&str| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            tcp_entries(&text).find(|entry| entry.local == local && entry.remote == remote)
        };
        TABLES.iter().find_map(of_table).map(|entry| entry.user)
    })
}

/// Asks sock_diag(7).
fn asked_user(local: SocketAddr, remote: SocketAddr) -> rustix::io::Result<Option<u32>> {
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    // `inet_diag_sockid`: ports, addresses, and a cookie of ones for any socket.
    let ports = [local.port().to_be_bytes(), remote.port().to_be_bytes()].concat();
    let socket = [&ports[..], &address(local), &address(remote), &[0; 4], &[0xff; 8]].concat();
    let found = netlink::socket_of(&netlink::diag()?, &request(family, u32::MAX, &socket)?)?;
    // A listener at the address is found too. The socket begins at the fifth byte of
    // `inet_diag_msg`.
    let is_it = |found: &Vec<u8>| found.get(6..8) == Some(&remote.port().to_be_bytes());
    Ok(found.filter(is_it).and_then(|found| netlink::number(&found, USER)))
}

/// Returns an address in the 16 bytes that the kernel has for it.
fn address(at: SocketAddr) -> Vec<u8> {
    let mut bytes = match at.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    bytes.resize(16, 0);
    bytes
}

/// Returns an `inet_diag_req_v2` without extensions.
fn request(family: AddressFamily, states: u32, socket: &[u8]) -> rustix::io::Result<Vec<u8>> {
    let family = u8::try_from(family.as_raw()).map_err(|_| rustix::io::Errno::INVAL)?;
    Ok([&[family, TCP, 0, 0][..], &states.to_ne_bytes(), socket].concat())
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

    #[test]
    fn a_connection_belongs_to_its_user() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (own, peer) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            let user = rustix::process::geteuid().as_raw();
            assert_eq!(user_of_connection(own, peer), Some(user), "{own}");
            assert_eq!(asked_user(own, peer).unwrap(), Some(user), "{own}");
            let other = SocketAddr::new(own.ip(), 9);
            assert_eq!((user_of_connection(other, peer), user_of_connection(peer, other)), (None, None));
        }
    }
}
