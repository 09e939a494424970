//! The routes of a room's network namespace: loopback, and for captured ports every address. All
//! else is unreachable.
//!
//! The table of local addresses gets a route for all addresses, and is looked up for loopback
//! addresses and for packets to and from captured ports only. So a listener for all addresses
//! accepts connections to any host, and a port that a command serves itself is reached at loopback
//! addresses only.

use super::netlink;
use rustix::net::{AddressFamily, RecvFlags};

const RTM_NEWLINK: u16 = 16;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWRULE: u16 = 32;
const RTM_DELRULE: u16 = 33;
/// `NLM_F_REQUEST`, `NLM_F_ACK` and, for what is created, `NLM_F_CREATE`.
const REQUEST: u16 = netlink::REQUEST | 4;
const CREATE: u16 = REQUEST | 0x400;

/// The routing table of local addresses. The kernel accepts no other one for the source of a
/// packet.
const TABLE: u8 = 255;
const LOOPBACK: u32 = 1;
const IFF_UP: u32 = 1;
const TCP: u8 = 6;

/// Brings up the loopback interface, like `ip link set lo up`.
pub(super) fn loopback_up() -> rustix::io::Result<()> {
    let mut body = vec![0; 4];
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    ask(RTM_NEWLINK, REQUEST, &body)
}

/// Makes every address one of this namespace, for connections to some ports.
pub(super) fn capture(ports: &[u16]) -> rustix::io::Result<()> {
    capture_family(AddressFamily::INET, &LOOPBACK_V4, ports)?;
    // A kernel without IPv6 has no such addresses to capture.
    capture_family(AddressFamily::INET6, &LOOPBACK_V6, ports).or(Ok(()))
}

/// A network, as its address and the number of bits that determine it.
type Prefix = (&'static [u8], u8);

const LOOPBACK_V4: Prefix = (&[127, 0, 0, 0], 8);
const LOOPBACK_V6: Prefix = (&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], 128);

fn capture_family(family: AddressFamily, loopback: &Prefix, ports: &[u16]) -> rustix::io::Result<()> {
    rule(RTM_NEWRULE, family, 1, &Selector::To(*loopback))?;
    for port in ports {
        rule(RTM_NEWRULE, family, 2, &Selector::ToPort(*port))?;
        rule(RTM_NEWRULE, family, 2, &Selector::FromPort(*port))?;
    }
    // The first rule of every namespace looks up the table for all packets.
    rule(RTM_DELRULE, family, 0, &Selector::All)?;
    local_route(family)
}

fn number(family: AddressFamily) -> u8 {
    u8::try_from(family.as_raw()).expect("families of the internet have small numbers")
}

/// Adds the route `local default dev lo` to the table.
fn local_route(family: AddressFamily) -> rustix::io::Result<()> {
    const PROTOCOL_BOOT: u8 = 3;
    const SCOPE_HOST: u8 = 254;
    const TYPE_LOCAL: u8 = 2;
    const OUTPUT_INTERFACE: u16 = 4;
    let scope = if family == AddressFamily::INET { SCOPE_HOST } else { 0 };
    let mut body = vec![number(family), 0, 0, 0, TABLE, PROTOCOL_BOOT, scope, TYPE_LOCAL];
    body.extend(0u32.to_ne_bytes());
    attribute(&mut body, OUTPUT_INTERFACE, &LOOPBACK.to_ne_bytes());
    ask(RTM_NEWROUTE, CREATE, &body)
}

/// The packets of a rule.
enum Selector {
    All,
    /// To addresses of a network.
    To(Prefix),
    /// Of TCP to a port.
    ToPort(u16),
    /// Of TCP from a port.
    FromPort(u16),
}

/// Adds or deletes a rule by which the table is looked up for some packets.
fn rule(kind: u16, family: AddressFamily, priority: u32, packets: &Selector) -> rustix::io::Result<()> {
    const LOOK_UP: u8 = 1;
    const DESTINATION: u16 = 1;
    const PRIORITY: u16 = 6;
    const IP_PROTOCOL: u16 = 22;
    const SOURCE_PORTS: u16 = 23;
    const DESTINATION_PORTS: u16 = 24;
    let bits = if let Selector::To((_, bits)) = packets { *bits } else { 0 };
    let mut body = vec![number(family), bits, 0, 0, TABLE, 0, 0, LOOK_UP, 0, 0, 0, 0];
    attribute(&mut body, PRIORITY, &priority.to_ne_bytes());
    let mut port = |kind: u16, port: u16| {
        attribute(&mut body, IP_PROTOCOL, &[TCP]);
        attribute(&mut body, kind, &[port.to_ne_bytes(), port.to_ne_bytes()].concat());
    };
    match packets {
        Selector::All => {}
        Selector::To((address, _)) => attribute(&mut body, DESTINATION, address),
        Selector::ToPort(number) => port(DESTINATION_PORTS, *number),
        Selector::FromPort(number) => port(SOURCE_PORTS, *number),
    }
    ask(kind, if kind == RTM_NEWRULE { CREATE } else { REQUEST }, &body)
}

fn attribute(body: &mut Vec<u8>, kind: u16, data: &[u8]) {
    let length = u16::try_from(4 + data.len()).expect("attributes are short");
    body.extend(length.to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Sends a netlink message and returns the kernel's answer.
fn ask(kind: u16, flags: u16, body: &[u8]) -> rustix::io::Result<()> {
    let socket = netlink::socket(None)?;
    netlink::send(&socket, kind, flags, body)?;
    let mut answer = [0; 512];
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    // The error code follows the header of the answer; it is zero or negative.
    let code =
        answer[..length].get(netlink::HEADER..netlink::HEADER + 4).and_then(|code| code.try_into().ok());
    match i32::from_ne_bytes(code.ok_or(rustix::io::Errno::PROTO)?) {
        0 => Ok(()),
        code => Err(rustix::io::Errno::from_raw_os_error(-code)),
    }
}
