//! The kernel's table of TCP sockets, as `/proc/net/tcp` and `/proc/net/tcp6` show it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// One TCP socket of a network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpEntry {
    /// Its address.
    pub(crate) local: SocketAddr,
    /// The address of the other end; unspecified for a listener.
    pub(crate) remote: SocketAddr,
    /// Whether it accepts connections.
    pub(crate) listens: bool,
    /// The user that it belongs to.
    pub(crate) user: u32,
}

/// Reads the text of a table. Lines that are not understood are left out.
pub(crate) fn tcp_entries(text: &str) -> impl Iterator<Item = TcpEntry> + '_ {
    text.lines().filter_map(entry)
}

fn entry(line: &str) -> Option<TcpEntry> {
    const LISTEN: &str = "0A";
    let mut columns = line.split_whitespace().skip(1);
    let (local, remote) = (address(columns.next()?)?, address(columns.next()?)?);
    let listens = columns.next()? == LISTEN;
    // Queues, timer and retransmissions precede the user.
    let user = columns.nth(3)?.parse().ok()?;
    Some(TcpEntry { local, remote, listens, user })
}

/// Parses an address and a port. An address is a sequence of 32-bit numbers, each as the processor
/// reads it from memory.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for at in (0..address.len()).step_by(8) {
        bytes.extend(u32::from_str_radix(address.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    }
    let ip = match bytes.len() {
        4 => IpAddr::from(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?)),
        _ => IpAddr::from(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?)).to_canonical(),
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn addresses_states_and_users_are_read() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n   \
             0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 57\n   \
             1: 00000000000000000000000001000000:1F90 B80D01200000000000000000FF000000:01BB 01 0:0 0:0 0 0 0 9\n\
             a line that is broken\n";
        let all: Vec<_> = tcp_entries(text).collect();
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let listener =
            TcpEntry { local: at("127.0.0.1:3000"), remote: at("0.0.0.0:0"), listens: true, user: 1000 };
        let open =
            TcpEntry { local: at("[::1]:8080"), remote: at("[2001:db8::ff]:443"), listens: false, user: 0 };
        assert_eq!(all, [listener, open]);
    }
}
