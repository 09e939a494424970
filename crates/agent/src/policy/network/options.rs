//! The settings for the network of commands.

use crate::limits::NETWORK_ASK_WAIT;
use std::time::Duration;
use system::Network;

/// The settings for the network of commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkOptions {
    /// The network that commands reach.
    pub network: Network,
    /// Hosts on private networks that commands may reach.
    pub local_hosts: Vec<String>,
    /// Whether the user is asked about hosts that no rule names; otherwise they are refused.
    pub ask_hosts: bool,
    /// How long a connection waits for the user's answer.
    pub ask_wait: Duration,
    /// Whether this machine reaches the servers of commands.
    pub forward_ports: bool,
    /// Whether commits and tags of commands are signed with the user's keys.
    pub sign_commits: SignCommits,
}

/// Whether commits and tags that commands make are signed with the user's keys, as git's settings
/// ask for. The order is that of permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SignCommits {
    /// They are not signed.
    Never,
    /// The user is asked.
    #[default]
    Ask,
    /// They are signed.
    Always,
}

impl Default for NetworkOptions {
    fn default() -> Self {
        Self {
            network: Network::Session,
            local_hosts: Vec::new(),
            ask_hosts: true,
            ask_wait: NETWORK_ASK_WAIT,
            forward_ports: true,
            sign_commits: SignCommits::default(),
        }
    }
}
