//! The sockets by which confined commands reach the network, and the trait of their server.

use crate::AbsPath;
use std::any::Any;
use std::fmt::Debug;
use std::net::{TcpListener, UdpSocket};

/// The sockets in the network namespace of a session's commands. Every connection and every name
/// lookup of a command arrives at one of them; no packet leaves the namespace.
#[derive(Debug)]
pub struct RoomSockets {
    /// The name server.
    pub names_udp: UdpSocket,
    /// The name server for queries over TCP.
    pub names_tcp: TcpListener,
    /// The listeners for other hosts, one for each captured port. The local address of an accepted
    /// connection is the address that the command connected to.
    pub captured: Vec<TcpListener>,
}

/// Serves the sockets of sessions' commands, from outside the sandbox.
pub trait RoomNetwork: Debug + Send + Sync {
    /// Serves the sockets of the session whose temporary files are in `session`, until the returned
    /// value is dropped. Called in a task of the runtime, or on one of its threads for blocking work.
    fn serve(&self, session: &AbsPath, sockets: RoomSockets) -> Box<dyn Any + Send + Sync>;
}
