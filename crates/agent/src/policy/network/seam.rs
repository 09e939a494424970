//! The seam to the server of the network of commands, which is outside of this crate.

use super::{Destination, SignCommits};
use crate::limits::{NETWORK_SENT_BYTES, NETWORK_SENT_SHARE};
use async_trait::async_trait;
use std::any::Any;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use system::AbsPath;

/// The server of the network of commands.
pub trait CommandNetwork: Debug + Send + Sync {
    /// Lets `judge` decide about the connections of the session whose temporary files are in
    /// `session`, until the returned value is dropped.
    fn attach(&self, session: &AbsPath, judge: Arc<dyn ConnectionJudge>) -> Box<dyn Any + Send + Sync>;
}

/// Decides about the connections of one session's commands, and is notified of each.
#[async_trait]
pub trait ConnectionJudge: Send + Sync {
    /// Returns whether a destination may be connected to. Waits for the user's answer where one is
    /// needed.
    ///
    /// # Errors
    /// The reason for the refusal.
    async fn judge(&self, destination: &Destination) -> Result<(), String>;

    /// Returns whether a command may reach a remote repository of the project at a destination.
    /// With `as_user`, the user's credential is sent. Waits for the user's answer, which covers the
    /// destination too.
    ///
    /// # Errors
    /// The reason for the refusal.
    async fn reach(
        &self,
        remote: &RemoteRepository,
        destination: &Destination,
        as_user: bool,
    ) -> Result<(), String>;

    /// Returns whether a push may be made. Waits for the user's answer.
    ///
    /// # Errors
    /// The reason for the refusal.
    async fn push(&self, push: &Push) -> Result<(), String>;

    /// Returns whether a commit or a tag may be signed. Waits for the user's answer.
    ///
    /// # Errors
    /// The reason for the refusal.
    async fn sign(&self, signing: &Signing) -> Result<(), String>;

    /// Returns whether commits and tags are signed.
    fn signs(&self) -> SignCommits;

    /// Returns what is known of a host before any connection to it, for the name server.
    fn expectation(&self, name: &str) -> Expectation;

    /// Returns whether only requests that read may be sent to a destination in the clear.
    fn is_for_reading(&self, destination: &Destination) -> bool;

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

/// A remote repository that the project's configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteRepository {
    /// Its address, without a password.
    pub address: String,
    /// The name of the remote in the configuration.
    pub name: String,
    /// The git directories whose configurations name it. A command may act for another one.
    pub directories: Vec<AbsPath>,
}

/// A push to a remote repository of the project, before anything of it has left this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// The repository.
    pub to: RemoteRepository,
    /// What changes. It is empty for files of Git LFS.
    pub changes: Vec<RefChange>,
}

/// A change of a reference of a remote repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefChange {
    /// The whole name, such as `refs/heads/main`.
    pub name: String,
    /// The id of the object that it has; `None` if it is new.
    pub old: Option<String>,
    /// The id of the object that it gets; `None` if it is deleted.
    pub new: Option<String>,
}

/// A commit or a tag that a command wants to have signed with a key of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signing {
    /// The program that signs: `gpg`, `gpgsm` or `ssh-keygen`.
    pub program: String,
    /// The key, as the program takes it.
    pub key: String,
    /// What it is: `commit` or `tag`.
    pub kind: &'static str,
    /// The first line of its message.
    pub subject: String,
    /// All of its text.
    pub object: String,
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
    /// Those of all hosts of its group.
    group: Option<Arc<GroupTraffic>>,
}

impl Traffic {
    /// Creates the counters of a host of a group.
    pub(crate) fn of_group(group: Arc<GroupTraffic>) -> Self {
        Self { group: Some(group), ..Self::default() }
    }

    /// Counts bytes from commands to the host.
    pub fn add_sent(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
        if let Some(group) = &self.group {
            group.sent.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Counts bytes from the host to commands.
    pub fn add_received(&self, bytes: u64) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
        if let Some(group) = &self.group {
            group.received.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Returns the bytes so far: to the host, and from it.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    /// Returns whether nothing more may be sent, until the user has agreed.
    pub fn is_exhausted(&self) -> bool {
        self.group.as_ref().is_some_and(|group| group.is_exhausted())
    }
}

/// The bytes that the hosts of a group have carried in a session. Downloads send little.
#[derive(Debug, Default)]
pub(crate) struct GroupTraffic {
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    /// Whether the user agreed that more is sent.
    pub(crate) may_send_more: AtomicBool,
}

impl GroupTraffic {
    pub(crate) fn is_exhausted(&self) -> bool {
        let most = NETWORK_SENT_BYTES + self.received.load(Ordering::Relaxed) / NETWORK_SENT_SHARE;
        !self.may_send_more.load(Ordering::Relaxed) && self.sent.load(Ordering::Relaxed) > most
    }
}
