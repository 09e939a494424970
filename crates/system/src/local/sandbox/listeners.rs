//! The ports of this machine at which programs listen.

use super::netlink;
use crate::tcp_entries;
use rustix::net::AddressFamily;
use std::collections::HashSet;

/// `TCP_LISTEN`, as a set of states.
const LISTEN: u32 = 1 << 10;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// The size of `inet_diag_sockid`, in bytes.
const SOCKET: usize = 48;

/// Returns the TCP ports at which something listens in this network namespace.
///
/// The kernel is asked for these sockets alone, which takes microseconds. `/proc/net/tcp` has the
/// connections too; its table is read whole, which takes milliseconds.
pub(super) fn ports() -> HashSet<u16> {
    asked().unwrap_or_else(|_| {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
        let tables = tables.map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let entries = tables.iter().flat_map(|text| tcp_entries(text));
        entries.filter(|entry| entry.listens).map(|entry| entry.local.port()).collect()
    })
}

/// Asks sock_diag(7).
fn asked() -> rustix::io::Result<HashSet<u16>> {
    let mut found = HashSet::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let family = u8::try_from(family.as_raw()).map_err(|_| rustix::io::Errno::INVAL)?;
        // `inet_diag_req_v2`: no extensions, and no particular socket.
        let request = [&[family, TCP, 0, 0][..], &LISTEN.to_ne_bytes(), &[0; SOCKET]].concat();
        // `inet_diag_msg`: four bytes, then the port.
        let port = |socket: &[u8]| Some(u16::from_be_bytes(socket.get(4..6)?.try_into().ok()?));
        netlink::sockets(&request, |socket| found.extend(port(socket)))?;
    }
    Ok(found)
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
        let found = ports();
        assert!(addresses.iter().all(|address| found.contains(&address.port())), "{found:?}");
        assert!(!found.contains(&client.local_addr().unwrap().port()));
    }
}
