//! Kinds of addresses: of the public internet, of private networks, and those that no service has.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kind of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressKind {
    /// On the public internet.
    Public,
    /// Of this machine.
    Loopback,
    /// Of a private network.
    Private,
    /// Set apart for documentation, benchmarks or protocols.
    Reserved,
    /// Never the address of a service that is connected to: link-local and other addresses where
    /// clouds serve credentials, unspecified, multicast, broadcast.
    Never,
}

/// Returns the kind of an address. One that contains an IPv4 address is of the kind of that one.
pub fn address_kind(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

/// Returns why commands are not connected to an address. `local` is whether the user declared its
/// host to be on a private network.
pub fn refused(address: IpAddr, local: bool) -> Option<&'static str> {
    match address_kind(address) {
        AddressKind::Public => None,
        AddressKind::Private | AddressKind::Reserved if local => None,
        AddressKind::Private | AddressKind::Reserved => {
            Some("its address is not on the public internet, and sandbox.local_hosts does not name the host")
        }
        AddressKind::Loopback => Some("its address is that of this machine"),
        AddressKind::Never => Some("nothing is sent to its address"),
    }
}

/// Addresses at which clouds serve credentials, outside of the link-local range.
const METADATA: [[u8; 4]; 3] = [[168, 63, 129, 16], [100, 100, 100, 200], [192, 0, 0, 192]];

fn kind_v4(address: Ipv4Addr) -> AddressKind {
    let octets @ [a, b, c, _] = address.octets();
    if METADATA.contains(&octets) {
        return AddressKind::Never;
    }
    match (a, b, c) {
        (0, ..) | (169, 254, _) | (224..=255, ..) => AddressKind::Never,
        (127, ..) => AddressKind::Loopback,
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => AddressKind::Private,
        // Benchmarks, documentation, protocol assignments, 6to4 relays.
        (198, 18 | 19, _) | (192, 0, 0 | 2) | (198, 51, 100) | (203, 0, 113) | (192, 88, 99) => {
            AddressKind::Reserved
        }
        _ => AddressKind::Public,
    }
}

fn kind_v6(address: Ipv6Addr) -> AddressKind {
    let parts = address.segments();
    let v4_at = |at: usize| {
        let [a, b] = parts[at].to_be_bytes();
        let [c, d] = parts[at + 1].to_be_bytes();
        kind_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressKind::Loopback,
        // `::ffff:a.b.c.d`, and the older `::a.b.c.d`.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0, 0, 0, 0, 0, 0, ..] => v4_at(6),
        // NAT64 and 6to4 addresses embed an IPv4 address.
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => v4_at(6),
        [0x64, 0xff9b, ..] => AddressKind::Never,
        [0x2002, ..] => v4_at(1),
        // Credentials of clouds.
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, ..] => AddressKind::Never,
        [0x2001, 0, ..] | [0x2001, 0xdb8, ..] | [0x100, 0, 0, 0, ..] => AddressKind::Reserved,
        [first, ..] if first & 0xfe00 == 0xfc00 => AddressKind::Private,
        [first, ..] if first & 0xe000 == 0x2000 => AddressKind::Public,
        _ => AddressKind::Never,
    }
}
