//! A rule for the network of commands, as it is written in settings.

use super::{
    Destination, WEB_PORTS,
    groups::{self, Group},
};
use crate::text::{host, similar::closest};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// A rule such as `network(domain:crates.io)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkRule {
    target: Target,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// A name and all names below it.
    Domain(String),
    /// A name.
    Host(String),
    Group(&'static Group),
    Address(std::net::IpAddr),
    /// This machine.
    Local,
}

impl NetworkRule {
    /// The beginning of every rule for the network.
    pub const PREFIX: &'static str = "network(";

    /// Parses a word by which a user names hosts: a group, a host, or a host with a port.
    ///
    /// # Errors
    /// A message for the user.
    pub fn of_word(word: &str) -> Result<Self, String> {
        if let Some(group) = groups::named(word) {
            return Ok(Self::of_group(group));
        }
        if let Ok(address) = word.parse::<SocketAddr>() {
            return Ok(Self::of_address(address));
        }
        if let Some((_, rest)) = word.split_once("://") {
            let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
            return Err(format!("takes a host and no URL: {host}"));
        }
        if let Some(port) = word.strip_prefix("localhost:") {
            return checked_port(port).map(Self::of_local);
        }
        if !word.contains('.') {
            return Err(unknown_group(word));
        }
        format!("network(host:{word})").parse()
    }

    /// Returns the word by which [`Self::of_word`] reads this rule; that of a domain is its host.
    pub fn word(&self) -> String {
        let port = |name: &str| self.port.map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        match &self.target {
            Target::Domain(name) | Target::Host(name) => port(name),
            Target::Group(group) => group.name.to_owned(),
            Target::Address(address) => SocketAddr::new(*address, self.port.unwrap_or(443)).to_string(),
            Target::Local => port("localhost"),
        }
    }

    pub(super) fn of_group(group: &'static Group) -> Self {
        Self { target: Target::Group(group), port: None }
    }

    pub(super) fn of_host(name: &str, port: Option<u16>) -> Self {
        Self { target: Target::Host(name.to_owned()), port }
    }

    pub(super) fn of_address(address: SocketAddr) -> Self {
        Self { target: Target::Address(address.ip()), port: Some(address.port()) }
    }

    pub(super) fn of_local(port: u16) -> Self {
        Self { target: Target::Local, port: Some(port) }
    }

    /// Returns the port of other hosts that the rule names.
    pub(super) fn port(&self) -> Option<u16> {
        self.port.filter(|_| self.target != Target::Local)
    }

    /// Returns the port of this machine that the rule names.
    pub(super) fn local_port(&self) -> Option<u16> {
        self.port.filter(|_| self.target == Target::Local)
    }

    /// Returns whether the rule names a destination, for a rule that allows. Without a port it
    /// names the usual ports of the web.
    pub(super) fn allows(&self, destination: &Destination) -> bool {
        let port = destination.port();
        self.names(destination) && self.port.map_or(WEB_PORTS.contains(&port), |own| own == port)
    }

    /// Returns whether the rule names a destination, for a rule that denies or asks. Without a port
    /// it names every port.
    pub(super) fn touches(&self, destination: &Destination) -> bool {
        self.names(destination) && self.port.is_none_or(|own| own == destination.port())
    }

    fn names(&self, destination: &Destination) -> bool {
        match (&self.target, destination) {
            (Target::Domain(domain), Destination::Host { name, .. }) => host::is_below(name, domain),
            (Target::Host(host), Destination::Host { name, .. }) => host == name,
            (Target::Group(group), Destination::Host { name, .. }) => group.has(name),
            (Target::Address(own), Destination::Address(address)) => *own == address.ip(),
            (Target::Local, Destination::Local(_)) => true,
            _ => false,
        }
    }
}

impl FromStr for NetworkRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "takes network(domain:NAME), network(host:NAME), network(group:NAME), network(address:IP:PORT) or \
                 network(local:PORT), such as network(domain:crates.io), not {text:?}"
            )
        };
        let inner =
            text.strip_prefix(Self::PREFIX).and_then(|rest| rest.strip_suffix(')')).ok_or_else(bad)?;
        let (kind, target) = inner.split_once(':').ok_or_else(bad)?;
        match kind {
            "group" => groups::named(target).map(Self::of_group).ok_or_else(|| unknown_group(target)),
            "address" => target.parse().map(Self::of_address).map_err(|_| {
                format!("takes an address and a port after address:, such as 10.0.0.5:5432, not {target:?}")
            }),
            "local" => checked_port(target).map(Self::of_local),
            "domain" | "host" => {
                let (name, port) = match target.split_once(':') {
                    Some((name, port)) => (name, Some(checked_port(port)?)),
                    None => (target, None),
                };
                let host = host::name(name).ok_or_else(|| {
                    format!(
                        "takes a host name of letters, digits and dashes after {kind}:, such as crates.io, not {name:?}"
                    )
                })?;
                if kind == "host" {
                    return Ok(Self::of_host(&host, port));
                }
                if !host.contains('.') {
                    return Err(format!("network(domain:{host}) names a whole top-level domain"));
                }
                Ok(Self { target: Target::Domain(host), port })
            }
            _ => Err(bad()),
        }
    }
}

fn checked_port(text: &str) -> Result<u16, String> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse::<u16>().ok().filter(|port| plain && *port != 0);
    // Port 53 is that of the name server in the sandbox.
    port.filter(|port| *port != 53)
        .ok_or_else(|| format!("takes a port from 1 to 65535, and not 53, not {text:?}"))
}

fn unknown_group(word: &str) -> String {
    let near = closest(word, groups::GROUPS.iter().map(|group| group.name), |name| name);
    let near = near.map(|near| format!("; did you mean {near:?}?")).unwrap_or_default();
    format!("there is no group of hosts {word:?}{near}")
}

impl fmt::Display for NetworkRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.target, self.port) {
            (Target::Domain(name), None) => write!(f, "network(domain:{name})"),
            (Target::Domain(name), Some(port)) => write!(f, "network(domain:{name}:{port})"),
            (Target::Host(name), None) => write!(f, "network(host:{name})"),
            (Target::Host(name), Some(port)) => write!(f, "network(host:{name}:{port})"),
            (Target::Local, port) => write!(f, "network(local:{})", port.unwrap_or_default()),
            (Target::Group(group), _) => write!(f, "network(group:{})", group.name),
            (Target::Address(address), port) => {
                write!(f, "network(address:{})", SocketAddr::new(*address, port.unwrap_or(443)))
            }
        }
    }
}
