//! The use of the network by commands, as the log keeps it.

use crate::{ToolCallId, limits::NETWORK_HOSTS_OF_SESSION, text::host};
use std::collections::{BTreeMap, btree_map::Entry};
use std::fmt;
use std::net::SocketAddr;

/// The name of this machine. No command reaches it by a looked-up name.
const LOCALHOST: &str = "localhost";

/// A place that a command connects to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Destination {
    /// A host, by the name that the command looked up, and a port.
    Host {
        /// The name in lower case.
        name: String,
        /// The port.
        port: u16,
    },
    /// An address that the command did not look up.
    Address(SocketAddr),
    /// A port of this machine's loopback addresses.
    Local(u16),
}

impl Destination {
    /// Creates the destination for a host name as it was written; `None` if it is no host name.
    pub fn host(name: &str, port: u16) -> Option<Self> {
        Some(Self::Host { name: host::name(name)?, port })
    }

    /// Creates the destination from its host and port as [`Destination::host_text`] and
    /// [`Destination::port`] return them.
    pub fn recorded(host: String, port: u16) -> Self {
        match host.parse() {
            Ok(ip) => Self::Address(SocketAddr::new(ip, port)),
            Err(_) if host == LOCALHOST => Self::Local(port),
            Err(_) => Self::Host { name: host, port },
        }
    }

    /// Returns the host's name, the address, or `localhost`.
    pub fn host_text(&self) -> String {
        match self {
            Self::Host { name, .. } => name.clone(),
            Self::Address(address) => address.ip().to_string(),
            Self::Local(_) => LOCALHOST.to_owned(),
        }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        match self {
            Self::Host { port, .. } | Self::Local(port) => *port,
            Self::Address(address) => address.port(),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host { name, port: 443 } => f.write_str(name),
            Self::Host { name, port } => write!(f, "{name}:{port}"),
            Self::Address(address) => address.fmt(f),
            Self::Local(port) => write!(f, "port {port} of this machine"),
        }
    }
}

/// The use of the network since the last call of a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkUse {
    /// The call whose end records it.
    pub call: ToolCallId,
    /// The places that commands connected to. At most 64.
    pub hosts: Vec<HostUse>,
}

/// The use of one host at one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostUse {
    /// The host and the port.
    pub destination: Destination,
    /// Number of new connections.
    pub connections: u64,
    /// Number of bytes from commands to the host.
    pub sent: u64,
    /// Number of bytes from the host to commands.
    pub received: u64,
    /// The reason of the last refusal.
    pub refused: Option<String>,
    /// The rule that allowed the last connection.
    pub rule: Option<String>,
}

impl HostUse {
    /// Creates the empty record of a destination.
    pub(crate) fn of(destination: Destination) -> Self {
        Self { destination, connections: 0, sent: 0, received: 0, refused: None, rule: None }
    }

    /// Returns whether nothing was used and nothing refused.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_connected() && self.refused.is_none()
    }

    /// Returns whether a connection was made or used.
    fn is_connected(&self) -> bool {
        self.connections > 0 || self.sent > 0 || self.received > 0
    }

    fn add(&mut self, later: &Self) {
        self.connections = self.connections.saturating_add(later.connections);
        self.sent = self.sent.saturating_add(later.sent);
        self.received = self.received.saturating_add(later.received);
        for (all, new) in [(&mut self.refused, &later.refused), (&mut self.rule, &later.rule)] {
            if new.is_some() {
                all.clone_from(new);
            }
        }
    }

    /// Describes the traffic and the refusal, each if there was one.
    pub(crate) fn facts(&self) -> impl Iterator<Item = String> {
        let traffic = self.is_connected().then(|| {
            format!(
                "{} sent {} and received {}",
                self.destination,
                byte_size(self.received),
                byte_size(self.sent)
            )
        });
        let refused =
            self.refused.as_ref().map(|reason| format!("{} was refused: {reason}", self.destination));
        traffic.into_iter().chain(refused)
    }

    /// Describes the use in one line, without the destination.
    pub fn summary(&self) -> String {
        let traffic = self.is_connected().then(|| {
            let connections = match self.connections {
                1 => "1 connection".to_owned(),
                count => format!("{count} connections"),
            };
            let rule = self.rule.as_ref().map(|rule| format!(", allowed by {rule}")).unwrap_or_default();
            format!(
                "{connections}, {} sent, {} received{rule}",
                byte_size(self.sent),
                byte_size(self.received)
            )
        });
        let refused = self.refused.as_ref().map(|reason| format!("refused: {reason}"));
        traffic.into_iter().chain(refused).collect::<Vec<_>>().join("; ")
    }
}

/// The use of the network by all commands of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct NetworkTotals {
    hosts: BTreeMap<Destination, HostUse>,
    /// Number of uses of destinations beyond the limit.
    more: usize,
}

impl NetworkTotals {
    pub(crate) fn add(&mut self, used: &NetworkUse) {
        for host in &used.hosts {
            let has_room = self.hosts.len() < NETWORK_HOSTS_OF_SESSION;
            match self.hosts.entry(host.destination.clone()) {
                Entry::Occupied(known) => known.into_mut().add(host),
                Entry::Vacant(place) if has_room => drop(place.insert(host.clone())),
                Entry::Vacant(_) => self.more += 1,
            }
        }
    }

    /// Returns the answer to `/network`.
    pub(crate) fn text(&self) -> String {
        if self.hosts.is_empty() {
            return "No command of this session used the network.\n".to_owned();
        }
        let mut text = "Commands of this session used the network:\n\n".to_owned();
        for host in self.hosts.values() {
            text.push_str(&format!("- `{}`: {}\n", host.destination, host.summary()));
        }
        if self.more > 0 {
            text.push_str(&format!(
                "- and {} more; `tiller permissions log` lists each by its call\n",
                self.more
            ));
        }
        text
    }
}

/// Returns a number of bytes in words, such as `1.5 MB`.
pub fn byte_size(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{}.{} kB", count / 1_000, count % 1_000 / 100),
        1_000_000..1_000_000_000 => format!("{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
        _ => format!("{}.{} GB", count / 1_000_000_000, count % 1_000_000_000 / 100_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str, connections: u64, refused: Option<&str>) -> HostUse {
        HostUse {
            connections,
            sent: 1_234 * connections,
            received: 3_100_000 * connections,
            refused: refused.map(str::to_owned),
            rule: (connections > 0).then(|| "network(group:npm)".to_owned()),
            ..HostUse::of(Destination::Host { name: name.to_owned(), port: 443 })
        }
    }

    #[test]
    fn uses_of_a_host_are_added() {
        let mut totals = NetworkTotals::default();
        assert_eq!(totals.text(), "No command of this session used the network.\n");
        let call = ToolCallId("tool_0".to_owned());
        let refused = host("b.org", 0, Some("the user said no"));
        totals.add(&NetworkUse { call: call.clone(), hosts: vec![host("a.org", 1, None), refused] });
        totals.add(&NetworkUse { call, hosts: vec![host("a.org", 1, Some("it is full"))] });
        assert_eq!(
            totals.text(),
            "Commands of this session used the network:\n\n\
             - `a.org`: 2 connections, 2.4 kB sent, 6.2 MB received, allowed by network(group:npm); refused: it is full\n\
             - `b.org`: refused: the user said no\n"
        );
    }

    #[test]
    fn the_number_of_hosts_is_limited() {
        let mut totals = NetworkTotals::default();
        let hosts = (0..NETWORK_HOSTS_OF_SESSION + 3).map(|n| host(&format!("h{n}.org"), 1, None)).collect();
        totals.add(&NetworkUse { call: ToolCallId("tool_0".to_owned()), hosts });
        assert_eq!(totals.hosts.len(), NETWORK_HOSTS_OF_SESSION);
        assert!(totals.text().contains("- and 3 more;"), "{}", totals.text());
    }
}
