//! The addresses that may be connected to: the public internet, and private networks if the user
//! declared a service to be there.
//!
//! A name is resolved and its addresses are checked here, and the connection uses one of these:
//! there is no second lookup that could return other addresses (DNS rebinding).

use crate::client::Network;
use agent::{AddressKind, address_kind};
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use std::{
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
};

type Lookup = Pin<Box<dyn Future<Output = std::io::Result<Vec<SocketAddr>>> + Send>>;

/// A resolver that returns only permitted addresses.
#[derive(Clone)]
pub struct AddressGuard {
    network: Network,
    remedy: &'static str,
    lookup: Arc<dyn Fn(String) -> Lookup + Send + Sync>,
}

/// The reason why nothing is sent to an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RefusedAddress {
    /// It is no HTTP or HTTPS URL with a host.
    #[error("{0:?} is not a valid http or https URL")]
    InvalidUrl(String),
    /// The host has an address outside the permitted network.
    #[error("the host {host} has the address {address}, which is not on the public internet; {remedy}")]
    Private { host: String, address: IpAddr, remedy: &'static str },
    /// Credentials would travel unencrypted.
    #[error("{0} is reached without encryption, so no credentials are sent there; use https")]
    Unencrypted(String),
}

/// What the user can do about a refused address.
const DECLARE: &str = "if the service is really there, permit it with `integrations add … --local`, or the account's field local=true";
/// What the user of a server can do about one.
const ASK: &str = "only the administrator of the server can permit it, with web.local_hosts";

impl AddressGuard {
    /// Creates a resolver with public addresses for the users of a server, who cannot permit other
    /// ones.
    pub fn for_users() -> Self {
        Self { remedy: ASK, ..Self::new(Network::Public) }
    }

    /// Creates a resolver for this network.
    #[expect(clippy::disallowed_methods, reason = "what decides about addresses has to know them")]
    pub fn new(network: Network) -> Self {
        let lookup = |name: String| -> Lookup {
            Box::pin(async move { Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.collect()) })
        };
        Self { network, remedy: DECLARE, lookup: Arc::new(lookup) }
    }

    /// Replaces the lookup by fixed addresses.
    #[cfg(test)]
    pub(crate) fn with(self, addresses: &'static [&'static str]) -> Self {
        let lookup = move |_: String| -> Lookup {
            let found = addresses.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect();
            Box::pin(async move { Ok(found) })
        };
        Self { lookup: Arc::new(lookup), ..self }
    }
}

impl Resolve for AddressGuard {
    fn resolve(&self, name: Name) -> Resolving {
        let (network, remedy, host) = (self.network, self.remedy, name.as_str().to_owned());
        let found = (self.lookup)(host.clone());
        Box::pin(async move {
            let found = found.await?;
            // Check all of them: a private address among public ones is an attack or a mistake.
            if let Some(bad) = found.iter().find(|address| !is_allowed(address.ip(), network)) {
                return Err(RefusedAddress::Private { host, address: bad.ip(), remedy }.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Checks a URL before anything is sent there. Host names are checked when they are resolved.
pub(crate) fn check(url: &Url, network: Network) -> Result<(), RefusedAddress> {
    check_with(url, network, DECLARE)
}

/// Checks a URL to which a request of a server's user is sent, before it is sent. Host names are
/// checked by [`AddressGuard::for_users`] when they are resolved.
///
/// # Errors
/// A message for the user, if it is no URL or names an address that is not public.
pub fn check_for_users(url: &str) -> Result<(), String> {
    let parsed = Url::parse(url).map_err(|error| format!("invalid address: {error}"))?;
    check_with(&parsed, Network::Public, ASK).map_err(|error| error.to_string())
}

fn check_with(url: &Url, network: Network, remedy: &'static str) -> Result<(), RefusedAddress> {
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"));
    let host = host.ok_or_else(|| RefusedAddress::InvalidUrl(url.scheme().to_owned()))?;
    match literal(host) {
        Some(address) if !is_allowed(address, network) => {
            Err(RefusedAddress::Private { host: host.to_owned(), address, remedy })
        }
        _ => Ok(()),
    }
}

/// Parses a service's base URL: HTTP or HTTPS, with a host, and without user, query or fragment.
pub(crate) fn checked_base(text: &str) -> Result<Url, RefusedAddress> {
    let bad = || RefusedAddress::InvalidUrl(agent::one_line(text).chars().take(100).collect());
    let url = Url::parse(text).map_err(|_| bad())?;
    let plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    match url.host_str() {
        Some(_) if plain && matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err(bad()),
    }
}

/// Returns whether a URL from the user literally names this machine or a private network.
pub(crate) fn is_literally_local(text: &str) -> bool {
    let Ok(url) = checked_base(text) else { return false };
    let Some(host) = url.host_str() else { return false };
    match literal(host) {
        Some(address) => !is_allowed(address, Network::Public) && is_allowed(address, Network::Private),
        None => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Returns whether an address may be connected to.
pub(crate) fn is_allowed(address: IpAddr, network: Network) -> bool {
    match (address_kind(address), network) {
        (AddressKind::Public, _) | (AddressKind::Private | AddressKind::Loopback, Network::Private) => true,
        (AddressKind::Private | AddressKind::Loopback, Network::Public)
        | (AddressKind::Reserved | AddressKind::Never, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s24_private_addresses_are_refused_in_every_spelling() {
        // Columns: allowed for the public network, allowed for private networks.
        for (url, public, private) in [
            ("https://93.184.216.34/", true, true),
            ("https://[2606:2800:220:1::1]/", true, true),
            ("https://service.example/", true, true),
            ("http://127.0.0.1/", false, true),
            ("http://127.9.9.9:8080/", false, true),
            ("http://2130706433/", false, true),
            ("http://0x7f.1/", false, true),
            ("http://017700000001/", false, true),
            ("http://10.1.2.3/", false, true),
            ("http://172.31.0.1/", false, true),
            ("http://172.32.0.1/", true, true),
            ("http://192.168.0.1/", false, true),
            ("http://100.64.0.1/", false, true),
            ("http://[::1]/", false, true),
            ("http://[::ffff:127.0.0.1]/", false, true),
            ("http://[fd00::1]/", false, true),
            ("http://169.254.169.254/latest/meta-data", false, false),
            ("http://[::ffff:169.254.169.254]/", false, false),
            ("http://[::ffff:a9fe:a9fe]/", false, false),
            ("http://[64:ff9b::a9fe:a9fe]/", false, false),
            ("http://[64:ff9b::7f00:1]/", false, true),
            ("http://[2002:a9fe:a9fe::]/", false, false),
            ("http://[2002:7f00:1::]/", false, true),
            ("http://[fe80::1]/", false, false),
            ("http://[::]/", false, false),
            ("http://168.63.129.16/", false, false),
            ("http://100.100.100.200/", false, false),
            ("http://[fd00:ec2::254]/", false, false),
            ("http://0.0.0.0/", false, false),
            ("http://0/", false, false),
            ("http://255.255.255.255/", false, false),
            ("http://224.0.0.1/", false, false),
            ("http://[ff02::1]/", false, false),
            ("ftp://93.184.216.34/", false, false),
            ("file:///etc/passwd", false, false),
        ] {
            let parsed = Url::parse(url).unwrap();
            let found = [Network::Public, Network::Private].map(|network| check(&parsed, network).is_ok());
            assert_eq!(found, [public, private], "{url}");
        }
    }

    async fn resolved(guard: &AddressGuard) -> Result<Vec<SocketAddr>, String> {
        let name = "service.example".parse().unwrap();
        guard.resolve(name).await.map(Iterator::collect).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn s24_what_a_name_resolves_to_is_checked_and_is_what_is_connected_to() {
        let public = AddressGuard::new(Network::Public);
        let private = AddressGuard::new(Network::Private);
        for (addresses, on_public, on_private) in [
            (&["93.184.216.34"][..], true, true),
            (&["127.0.0.1"], false, true),
            (&["93.184.216.34", "10.0.0.1"], false, true),
            (&["169.254.169.254"], false, false),
            (&["::ffff:169.254.169.254"], false, false),
            (&["0.0.0.0"], false, false),
        ] {
            let found = resolved(&public.clone().with(addresses)).await;
            assert_eq!(found.is_ok(), on_public, "{addresses:?}");
            match found {
                Ok(found) => assert_eq!(found.len(), addresses.len()),
                Err(why) => assert!(why.contains("service.example has the address"), "{why}"),
            }
            assert_eq!(resolved(&private.clone().with(addresses)).await.is_ok(), on_private, "{addresses:?}");
        }
        let name: Name = "localhost".parse().unwrap();
        assert!(public.resolve(name).await.is_err());
    }

    #[test]
    fn a_literal_private_address_of_the_user_counts_as_local() {
        for (url, local) in [
            ("http://127.0.0.1:3000", true),
            ("http://localhost:3000/api", true),
            ("http://a.localhost", true),
            ("http://192.168.1.2", true),
            ("http://[::1]:80", true),
            ("http://169.254.169.254", false),
            ("https://localhost.example", false),
            ("https://127.0.0.1.example", false),
            ("http://user@127.0.0.1", false),
            ("nothing", false),
        ] {
            assert_eq!(is_literally_local(url), local, "{url}");
        }
    }
}
