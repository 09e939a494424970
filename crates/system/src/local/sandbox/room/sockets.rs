//! The sockets of a room: they are bound within its network namespace, and served from outside.

use crate::local::sandbox::{descriptor, namespaces::problem, routes};
use crate::{RoomPorts, RoomSockets};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv6Addr, SocketAddrV6, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

/// The address of the name server of a room.
const NAMES: &str = "127.0.0.1:53";

/// How many connections wait to be accepted.
const WAITING: i32 = 512;

/// Binds the sockets within this network namespace.
pub(super) fn bind(ports: &RoomPorts) -> Result<RoomSockets, String> {
    routes::capture(&ports.hosts).map_err(problem("routes"))?;
    let names_udp = UdpSocket::bind(NAMES).map_err(problem("the name server"))?;
    let names_tcp = TcpListener::bind(NAMES).map_err(problem("the name server"))?;
    let listeners =
        served(ports).into_iter().map(|port| listener(port).map_err(problem(format!("port {port}"))));
    let listeners = listeners.collect::<Result<_, _>>()?;
    Ok(RoomSockets { names_udp, names_tcp, listeners, local: ports.local.clone() })
}

/// Returns the ports that have a listener.
fn served(ports: &RoomPorts) -> BTreeSet<u16> {
    ports.hosts.iter().chain(&ports.local).copied().collect()
}

/// Returns a listener for a port of all addresses; for those of IPv4 alone if the kernel has no
/// other ones.
fn listener(port: u16) -> io::Result<TcpListener> {
    let all = || -> rustix::io::Result<OwnedFd> {
        let (family, kind) = (AddressFamily::INET6, SocketType::STREAM);
        let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
        sockopt::set_ipv6_v6only(&socket, false)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, port, 0, 0))?;
        rustix::net::listen(&socket, WAITING)?;
        Ok(socket)
    };
    all().map(TcpListener::from).or_else(|_| TcpListener::bind(("0.0.0.0", port)))
}

/// Sends the sockets to the agent's process.
pub(super) fn send(control: impl AsFd, sockets: &RoomSockets) -> io::Result<()> {
    descriptor::send(&control, &sockets.names_udp)?;
    descriptor::send(&control, &sockets.names_tcp)?;
    sockets.listeners.iter().try_for_each(|listener| descriptor::send(&control, listener))
}

/// Receives the sockets of a room that serves these ports.
pub(super) fn receive(control: impl AsFd, ports: &RoomPorts) -> io::Result<RoomSockets> {
    Ok(RoomSockets {
        names_udp: descriptor::receive(&control)?.into(),
        names_tcp: descriptor::receive(&control)?.into(),
        listeners: served(ports)
            .iter()
            .map(|_| descriptor::receive(&control).map(TcpListener::from))
            .collect::<Result<_, _>>()?,
        local: ports.local.clone(),
    })
}
