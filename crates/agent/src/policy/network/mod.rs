//! The network of commands: which destinations a command may connect to, by rules, groups of hosts
//! and answers of the user.
//!
//! Architecture Invariant: [`decide`] is pure. The order is: addresses that are never connected to,
//! deny rules, the setting `off`, ask rules, allow rules, answers of the user, the permission mode.

pub(crate) mod address;
pub(crate) mod groups;
mod options;
mod rule;
mod seam;
#[cfg(test)]
mod tests;

pub use address::{AddressKind, address_kind, refused as refused_address};
pub use options::{NetworkOptions, SignCommits};
pub use rule::NetworkRule;
pub(crate) use seam::GroupTraffic;
pub use seam::{
    CommandNetwork, ConnectionJudge, Expectation, Push, RefChange, RemoteRepository, Signing, Traffic,
};

use crate::{Destination, PermissionMode};
pub(crate) use groups::Group;
use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use system::Network;

/// The ports of a rule that names none, in the order in which they are shown.
pub(crate) const WEB_PORTS: [u16; 2] = [443, 80];

/// The port of secure shells, which is served for rules and questions too.
const SSH_PORT: u16 = 22;

/// Ports at which databases, caches and message brokers listen. Commands reach those of this
/// machine after a question.
pub const SERVICE_PORTS: &[u16] =
    &[1433, 1521, 2379, 3306, 4222, 4566, 5432, 5672, 6379, 8123, 9042, 9092, 9200, 11_211, 27_017];

/// The rules for the network of all settings layers together. Deny beats ask, and ask beats allow,
/// regardless of the layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkRules {
    /// Destinations that are never connected to.
    pub deny: Vec<NetworkRule>,
    /// Destinations that are asked about in every permission mode.
    pub ask: Vec<NetworkRule>,
    /// Destinations that need no question.
    pub allow: Vec<NetworkRule>,
}

impl NetworkRules {
    /// Returns the ports at which other hosts are reached: the usual ones and those of the rules.
    pub(crate) fn ports(&self) -> Vec<u16> {
        let named = self.served().filter_map(NetworkRule::port);
        let all: BTreeSet<_> = WEB_PORTS.into_iter().chain([SSH_PORT]).chain(named).collect();
        all.into_iter().take(crate::limits::NETWORK_PORTS).collect()
    }

    /// Returns the ports of this machine that the rules name.
    pub(crate) fn local_ports(&self) -> Vec<u16> {
        let all: BTreeSet<_> = self.served().filter_map(NetworkRule::local_port).collect();
        all.into_iter().take(crate::limits::NETWORK_PORTS).collect()
    }

    fn served(&self) -> impl Iterator<Item = &NetworkRule> {
        self.allow.iter().chain(&self.ask)
    }
}

/// The inputs of a decision beyond the destination.
#[derive(Clone, Copy)]
pub(crate) struct NetworkPolicy<'a> {
    pub(crate) options: &'a NetworkOptions,
    pub(crate) permission_mode: PermissionMode,
    pub(crate) rules: &'a NetworkRules,
    /// The user's answers in this session.
    pub(crate) grants: &'a NetworkGrants,
}

impl NetworkPolicy<'_> {
    /// Returns what the rules say of a host before any connection to it.
    pub(crate) fn expectation(&self, name: &str) -> Expectation {
        let at = |port| decide(self, &Destination::Host { name: name.to_owned(), port });
        let all: Vec<_> = self.rules.ports().into_iter().map(at).collect();
        if all.iter().all(|decision| matches!(decision, NetworkDecision::Deny { .. })) {
            return Expectation::Denied;
        }
        let is_allowed = |decision: &NetworkDecision| matches!(decision, NetworkDecision::Allow { .. });
        if all.iter().any(is_allowed) { Expectation::Allowed } else { Expectation::Undecided }
    }
}

/// The decision about a destination and the rule that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NetworkDecision {
    /// It may be connected to.
    Allow { rule: String },
    /// The user is asked; the answer is for all of the scope.
    Ask {
        scope: NetworkScope,
        /// Whether a rule asks, which no other rule overrides.
        by_rule: bool,
    },
    /// It is not connected to.
    Deny { reason: String },
}

/// The destinations that one answer of the user covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum NetworkScope {
    /// All hosts of a group.
    Group(&'static Group),
    /// A host, at its usual ports or at one other port.
    Host(String, Option<u16>),
    /// An address.
    Address(SocketAddr),
    /// A port of this machine.
    Local(u16),
}

impl NetworkScope {
    /// Returns the scope of a question about a destination.
    pub(crate) fn of(destination: &Destination) -> Self {
        match destination {
            Destination::Address(address) => Self::Address(*address),
            Destination::Local(port) => Self::Local(*port),
            Destination::Host { name, port } if WEB_PORTS.contains(port) => match groups::of_host(name) {
                Some(group) => Self::Group(group),
                None => Self::Host(name.clone(), None),
            },
            Destination::Host { name, port } => Self::Host(name.clone(), Some(*port)),
        }
    }

    /// Returns the group of a destination.
    pub(crate) fn group_of(destination: &Destination) -> Option<&'static Group> {
        match Self::of(destination) {
            Self::Group(group) => Some(group),
            Self::Host(..) | Self::Address(_) | Self::Local(_) => None,
        }
    }

    /// Returns the rule that covers the same.
    pub(crate) fn rule(&self) -> NetworkRule {
        match self {
            Self::Group(group) => NetworkRule::of_group(group),
            Self::Host(name, port) => NetworkRule::of_host(name, *port),
            Self::Address(address) => NetworkRule::of_address(*address),
            Self::Local(port) => NetworkRule::of_local(*port),
        }
    }
}

/// The user's answers of one session; forgotten when the permission mode changes.
pub(crate) type NetworkGrants = HashMap<NetworkScope, bool>;

/// Decides about a destination.
pub(crate) fn decide(policy: &NetworkPolicy<'_>, destination: &Destination) -> NetworkDecision {
    let NetworkPolicy { options, permission_mode, rules, grants } = *policy;
    let NetworkOptions { network, local_hosts, ask_hosts, .. } = options;
    let deny = |reason: String| NetworkDecision::Deny { reason };
    let allowed = rules.allow.iter().find(|rule| rule.allows(destination));
    // A rule may name an address of a private network, but none that is never connected to.
    if let Destination::Address(address) = destination
        && let Some(why) = address::refused(address.ip(), allowed.is_some())
    {
        return deny(why.to_owned());
    }
    if let Some(rule) = rules.deny.iter().find(|rule| rule.touches(destination)) {
        return deny(format!("the setting permissions.deny has '{rule}'"));
    }
    match network {
        Network::Off => return deny("the setting sandbox.network is off".to_owned()),
        Network::Open => return NetworkDecision::Allow { rule: "sandbox.network".to_owned() },
        Network::Session => {}
    }
    let scope = NetworkScope::of(destination);
    let asked = rules.ask.iter().find(|rule| rule.touches(destination));
    if asked.is_none()
        && let Some(rule) = allowed
    {
        return NetworkDecision::Allow { rule: rule.to_string() };
    }
    match grants.get(&scope) {
        Some(true) => return NetworkDecision::Allow { rule: "the user's answer".to_owned() },
        Some(false) => return deny("the user said no".to_owned()),
        None => {}
    }
    if asked.is_some() {
        return NetworkDecision::Ask { scope, by_rule: true };
    }
    let is_public = match destination {
        Destination::Host { name, port } => WEB_PORTS.contains(port) && !local_hosts.contains(name),
        Destination::Address(_) | Destination::Local(_) => false,
    };
    match permission_mode {
        PermissionMode::Prometheus if is_public => {
            NetworkDecision::Allow { rule: "the permission mode prometheus".to_owned() }
        }
        _ if !ask_hosts => deny("no rule allows it, and the setting sandbox.ask_hosts is off".to_owned()),
        _ => NetworkDecision::Ask { scope, by_rule: false },
    }
}
