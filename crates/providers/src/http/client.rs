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
    plain: OnceLock<Result<Client, String>>,
    tls: OnceLock<Result<Client, String>>,
}

impl Http {
    /// Returns the client for the scheme of an address, `http` or `https`.
    pub(crate) fn client(&self, url: &reqwest::Url) -> Result<Client, ModelError> {
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
