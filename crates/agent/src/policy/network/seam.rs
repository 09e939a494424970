//! The seam to the server of the network of commands, which is outside of this crate.

use super::Destination;
use async_trait::async_trait;
use std::any::Any;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use system::AbsPath;

/// The server of the network of commands.
pub trait CommandNetwork: Debug + Send + Sync {
    /// Lets `judge` decide about the connections of the session whose temporary files are in
    /// `session`, until the returned value is dropped.
    fn attach(&self, session: &AbsPath, judge: Arc<dyn ConnectionJudge>) -> Box<dyn Any + Send + Sync>;
}

/// Decides about the connections of one session's commands, and is told of each.
#[async_trait]
pub trait ConnectionJudge: Send + Sync {
    /// Returns whether a destination may be connected to. Waits for the user's answer where one is
    /// needed.
    ///
    /// # Errors
    /// The reason for the refusal.
    async fn judge(&self, destination: &Destination) -> Result<(), String>;

    /// Returns what is known of a host before any connection to it, for the name server.
    fn expectation(&self, name: &str) -> Expectation;

    /// Notes that a command has got an address for a host.
    fn looked_up(&self, name: &str);

    /// Returns whether the user declared a host to be on a private network.
    fn is_local(&self, name: &str) -> bool;

    /// Notes that a connection has been made; returns the counters of its bytes.
    fn connected(&self, destination: &Destination) -> Arc<Traffic>;

    /// Notes that a connection was refused.
    fn refused(&self, destination: &Destination, reason: &str);

    /// Returns whether this machine reaches the servers of commands.
    fn forwards_ports(&self) -> bool;

    /// Notes that a server of a command, which listens at `port`, is reached at an address of this
    /// machine.
    fn forwarded(&self, port: u16, address: SocketAddr);

    /// Notes that the server at `port` has ended.
    fn forward_ended(&self, port: u16);
}

/// What the rules say of a host before any connection to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// A rule or an answer allows it at some port.
    Allowed,
    /// The user would be asked.
    Undecided,
    /// It is denied at every port.
    Denied,
}

/// The bytes that connections to one destination have carried so far.
#[derive(Debug, Default)]
pub struct Traffic {
    /// From commands to the host.
    pub sent: AtomicU64,
    /// From the host to commands.
    pub received: AtomicU64,
}
