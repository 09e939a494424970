//! HTTP clients, built when the first request needs them.

use crate::limits;
use agent::ModelError;
use reqwest::{Client, dns::Resolve, redirect::Policy};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::{Arc, OnceLock};

/// HTTP clients for servers other than the vendors', at addresses that the user configured.
#[derive(Debug, Default)]
pub struct HttpClients(Http);

impl HttpClients {
    /// Creates clients that connect only to the addresses this resolver returns. They use no proxy,
    /// since a proxy would resolve names itself.
    pub fn resolving(resolver: impl Resolve + 'static) -> Self {
        Self(Http { resolver: Some(Resolver(Arc::new(resolver))), ..Http::default() })
    }

    /// Creates clients that connect to the named addresses, and else only to those that the check
    /// accepts and the resolver returns. The resolver is not asked about addresses without a name.
    pub fn restricted(
        named: NamedAddresses,
        check: fn(&str) -> Result<(), String>,
        resolver: impl Resolve + 'static,
    ) -> Self {
        let Self(http) = Self::resolving(resolver);
        Self(Http { restriction: Some(Restriction { named, check, open: Box::default() }), ..http })
    }

    pub(crate) fn into_inner(self) -> Http {
        self.0
    }

    /// Returns the client for an address, built on first use. It follows no redirects.
    ///
    /// # Errors
    ///
    /// The message is for people and does not contain the address.
    pub fn client(&self, url: &str) -> Result<Client, String> {
        let url = reqwest::Url::parse(url).map_err(|error| format!("invalid address: {error}"))?;
        self.0.client(&url).map_err(|error| error.to_string())
    }
}

/// Hosts with a port, or with all of their ports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedAddresses(Vec<(String, Option<u16>)>);

impl NamedAddresses {
    /// Adds the host and the port of a URL. A text that is no URL adds nothing.
    pub fn add_url(&mut self, url: &str) {
        self.0.extend(host_and_port(url).map(|(host, port)| (host, Some(port))));
    }

    /// Adds all ports of a host.
    pub fn add_host(&mut self, host: &str) {
        self.0.push((host.to_ascii_lowercase(), None));
    }

    /// Returns whether the host and the port of a URL were added.
    pub fn has(&self, url: &str) -> bool {
        host_and_port(url).is_some_and(|(host, port)| {
            self.0.iter().any(|(known, at)| *known == host && at.is_none_or(|at| at == port))
        })
    }
}

fn host_and_port(url: &str) -> Option<(String, u16)> {
    let url = reqwest::Url::parse(url).ok()?;
    Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
}

/// What restricted clients may connect to.
#[derive(Debug)]
struct Restriction {
    named: NamedAddresses,
    check: fn(&str) -> Result<(), String>,
    /// The clients for the named addresses.
    open: Box<Http>,
}

/// The DNS resolver.
#[derive(Clone)]
struct Resolver(Arc<dyn Resolve>);

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolver")
    }
}

/// The connection pools, built lazily: reading the machine's certificates takes milliseconds, which
/// a start without a request, or with plain HTTP to a loopback server only, does not pay.
#[derive(Debug, Default)]
pub(crate) struct Http {
    /// The system's resolver when `None`.
    resolver: Option<Resolver>,
    /// Anywhere when `None`.
    restriction: Option<Restriction>,
    plain: OnceLock<Result<Client, String>>,
    tls: OnceLock<Result<Client, String>>,
}

impl Http {
    /// Returns the client for the scheme of an address, `http` or `https`.
    pub(crate) fn client(&self, url: &reqwest::Url) -> Result<Client, ModelError> {
        if let Some(Restriction { named, check, open }) = &self.restriction {
            if named.has(url.as_str()) {
                return open.client(url);
            }
            check(url.as_str()).map_err(ModelError::NotConfigured)?;
        }
        let built = if url.scheme() == "https" {
            self.tls.get_or_init(|| build(verified_tls()?, true, self.resolver.clone()))
        } else {
            self.plain.get_or_init(|| build(no_tls()?, false, self.resolver.clone()))
        };
        built.clone().map_err(|error| {
            ModelError::Transport(format!(
                "cannot set up {} connections: {error}; check this machine's root certificates",
                url.scheme()
            ))
        })
    }
}

/// Builds a client. It follows no redirects: a model API does not redirect, and following one would
/// send the key to another host.
fn build(tls: ClientConfig, proxies: bool, resolver: Option<Resolver>) -> Result<Client, String> {
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .pool_max_idle_per_host(limits::IDLE_CONNECTIONS)
        .connect_timeout(limits::CONNECT_TIMEOUT)
        .user_agent(concat!("tiller/", env!("CARGO_PKG_VERSION")));
    if !proxies || resolver.is_some() {
        builder = builder.no_proxy();
    }
    if let Some(Resolver(resolver)) = resolver {
        builder = builder.dns_resolver(resolver);
    }
    builder.build().map_err(|error| error.without_url().to_string())
}

/// Uses the operating system's trust store, so that a company's own certificate authority works as
/// it does in a browser.
///
/// # Errors
/// If the trust store cannot be used.
pub fn verified_tls() -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_platform_verifier())
        .map_err(|error| error.to_string())?;
    Ok(config.with_no_client_auth())
}

/// The client requires a TLS configuration even for plain HTTP. This one trusts no certificate, and
/// costs nothing to build.
fn no_tls() -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_addresses_are_compared_by_host_and_port() {
        let mut named = NamedAddresses::default();
        named.add_url("https://models.example/v1");
        named.add_url("http://127.0.0.1:11434");
        named.add_url("no address");
        named.add_host("Wiki.Example");
        for (url, expected) in [
            ("https://models.example/other", true),
            ("https://MODELS.example:443/", true),
            ("http://models.example/v1", false),
            ("https://models.example:8443/v1", false),
            ("http://127.0.0.1:11434/api/tags", true),
            ("http://127.0.0.1:11435/api/tags", false),
            ("http://127.1:11434/", true),
            ("http://wiki.example:8080/", true),
            ("http://wiki.example.evil/", false),
            ("no address", false),
        ] {
            assert_eq!(named.has(url), expected, "{url}");
        }
    }
}
