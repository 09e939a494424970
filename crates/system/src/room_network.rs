//! The sockets by which confined commands reach the network, and the trait of their server.

use crate::AbsPath;
use async_trait::async_trait;
use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;

/// The directory in a room in which git finds programs that sign by [`RoomNetwork`].
pub const GIT_SIGNING: &str = "/run/git-signing";

/// The ports in the network namespace of a session's commands that are served from outside.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RoomPorts {
    /// The ports at which other hosts are reached.
    pub hosts: Vec<u16>,
    /// The ports of this machine's loopback addresses that are reached.
    pub local: Vec<u16>,
    /// Further ports of this machine's loopback addresses. One is reached if something listens
    /// there when the namespace is created.
    pub services: Vec<u16>,
}

/// The sockets in the network namespace of a session's commands. Every connection and every name
/// lookup of a command arrives at one of them; no packet leaves the namespace.
#[derive(Debug)]
pub struct RoomSockets {
    /// The name server.
    pub names_udp: UdpSocket,
    /// The name server for queries over TCP.
    pub names_tcp: TcpListener,
    /// One listener for each port. The local address of an accepted connection is the address that
    /// the command connected to.
    pub listeners: Vec<TcpListener>,
    /// The ports at which a loopback address stands for this machine.
    pub local: Vec<u16>,
}

/// What leads into the network namespace of a session's commands.
pub struct RoomInside {
    /// The number of commands that run in it.
    pub running: watch::Receiver<usize>,
    /// Returns the sockets that lead into it. Blocks for some milliseconds.
    ///
    /// The error is the reason, for a log.
    pub open: Box<dyn Fn() -> Result<InsideSockets, String> + Send + Sync>,
}

impl Debug for RoomInside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomInside").finish_non_exhaustive()
    }
}

/// Sockets of the network namespace of a session's commands.
pub struct InsideSockets {
    /// Returns the TCP ports at which commands listen now.
    pub listening: Box<dyn Fn() -> BTreeSet<u16> + Send + Sync>,
    /// Sockets for addresses of IPv4 that are not connected. One that is connected reaches a server
    /// of a command.
    pub v4: Vec<TcpStream>,
    /// The same for addresses of IPv6. A socket is of use for one of the two.
    pub v6: Vec<TcpStream>,
}

impl Debug for InsideSockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InsideSockets").finish_non_exhaustive()
    }
}

/// A remote repository that the configuration of a git repository named before the first command of
/// a session.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GitRemote {
    /// Its name in the configuration; for a submodule, the name of that.
    pub name: String,
    /// Its address, as the configuration has it.
    pub url: String,
    /// The git directory whose configuration names it.
    pub directory: AbsPath,
    /// The value of `Authorization` that the configuration has for it.
    pub authorization: Option<String>,
}

/// Omits the address, which may have a password, and the authorization.
impl Debug for GitRemote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, directory, .. } = self;
        f.debug_struct("GitRemote").field("name", name).field("directory", directory).finish_non_exhaustive()
    }
}

/// Serves the sockets of sessions' commands, from outside the sandbox.
#[async_trait]
pub trait RoomNetwork: Debug + Send + Sync {
    /// Serves the sockets of the session whose temporary files are in `session`, until the returned
    /// value is dropped. Called in a task of the runtime, or on one of its threads for blocking
    /// work.
    fn serve(
        &self,
        session: &AbsPath,
        sockets: RoomSockets,
        inside: RoomInside,
    ) -> Box<dyn Any + Send + Sync>;

    /// Returns variables by which git in the session's commands reaches remote repositories. What
    /// is in `roots` was written by commands, and is not run.
    async fn variables(
        &self,
        session: &AbsPath,
        roots: &[AbsPath],
        remotes: Vec<GitRemote>,
    ) -> Vec<(String, String)>;
}
