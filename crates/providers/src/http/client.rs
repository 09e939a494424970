//! HTTP clients, built when the first request needs them.

use crate::limits;
use agent::ModelError;
use reqwest::{Client, dns::Resolve, redirect::Policy};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::{Arc, OnceLock};

/// The clients for addresses of others than vendors: servers that the user names.
#[derive(Debug, Default)]
pub struct HttpClients(Http);

impl HttpClients {
    /// Clients that connect to what this resolver says and to nothing else: they use no proxy, which would resolve names by itself.
    pub fn resolving(resolver: impl Resolve + 'static) -> Self {
        Self(Http { resolver: Some(Resolver(Arc::new(resolver))), ..Http::default() })
    }

    /// The client for an address; made when it is first asked for. It follows no redirects. The error is for people, without the address.
    pub fn client(&self, url: &str) -> Result<Client, String> {
        let url = reqwest::Url::parse(url).map_err(|error| format!("the address is wrong: {error}"))?;
        self.0.client(&url).map_err(|error| error.to_string())
    }
}

/// What names are looked up with.
#[derive(Clone)]
struct Resolver(Arc<dyn Resolve>);

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Resolver")
    }
}

/// The connection pools. Nothing is built before it is used: reading the machine's certificates takes milliseconds, which a
/// start-up without a request does not pay, and which plain HTTP to a loopback server never pays.
#[derive(Debug, Default)]
pub(crate) struct Http {
    /// The machine's own when `None`.
    resolver: Option<Resolver>,
    plain: OnceLock<Result<Client, String>>,
    tls: OnceLock<Result<Client, String>>,
}

impl Http {
    /// The client for `http` or `https` addresses.
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

/// Redirects are not followed: an API does not redirect, and following one would carry the key to another host.
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

/// The operating system decides whom to trust, so that a company's own authority works as it does in a browser.
fn verified_tls() -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_platform_verifier())
        .map_err(|error| error.to_string())?;
    Ok(config.with_no_client_auth())
}

/// The client wants a TLS configuration even for plain HTTP; this one trusts nobody and costs nothing.
fn no_tls() -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
