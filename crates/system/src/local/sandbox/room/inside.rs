//! The stage of the launcher that creates sockets in the network namespace of a room, for
//! connections from outside to servers of commands. It enters the namespace, sends the sockets and
//! those that tell which servers there are, and ends.

use super::ask_stage;
use crate::InsideSockets;
use crate::local::sandbox::{descriptor, namespaces, supervise, tcp_sockets::Listeners, words::INSIDE};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;

/// The number of connections to servers of commands at a time, for each family of addresses.
const CONNECTIONS: usize = 16;

/// Starts the stage and receives what it sends.
pub(super) fn open(namespaces: &[OwnedFd], launcher: &[String]) -> Result<InsideSockets, String> {
    ask_stage(launcher, INSIDE, |control| {
        namespaces.iter().try_for_each(|namespace| descriptor::send(&*control, namespace))?;
        let diag = descriptor::receive(&*control)?;
        let tables = (1..Listeners::DESCRIPTORS).map(|_| descriptor::receive(&*control));
        let listeners = Listeners::of(diag, tables.collect::<io::Result<Vec<_>>>()?.into_iter());
        let unconnected = || -> io::Result<Vec<_>> {
            (0..CONNECTIONS).map(|_| descriptor::receive(&*control).map(TcpStream::from)).collect()
        };
        let (v4, v6) = (unconnected()?, unconnected()?);
        Ok(InsideSockets { listening: Box::new(move || listeners.ports()), v4, v6 })
    })
}

/// Reads the namespaces from standard input, which is a socket to the agent's process, and answers
/// it there.
pub(in crate::local::sandbox) fn run() -> u8 {
    supervise::stage(send)
}

fn send(control: File) -> Result<(), String> {
    let room = descriptor::receive_room(&control).map_err(|error| error.to_string())?;
    namespaces::join_network(&room)?;
    let listeners = Listeners::here().map_err(namespaces::problem("the room's servers"))?;
    let lost = || namespaces::problem("the agent's process");
    for descriptor in listeners.descriptors() {
        descriptor::send(&control, descriptor).map_err(lost())?;
    }
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        for _ in 0..CONNECTIONS {
            // A kernel without IPv6 has no servers at such addresses either.
            let socket = socket(family).or_else(|_| socket(AddressFamily::INET));
            let socket = socket.map_err(namespaces::problem("a socket"))?;
            descriptor::send(&control, &socket).map_err(lost())?;
        }
    }
    Ok(())
}

fn socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)
}
