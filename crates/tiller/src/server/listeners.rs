//! Where the server listens, and whether that is safe.

use super::refuse;
use crate::{
    environment::Environment,
    options::{Directories, ServeSettings},
};
use ::serve::{
    CertificateFiles, Listener, Names, Proxies,
    auth::{TokenRow, wall_clock},
};
use anyhow::Result;
use std::{net::SocketAddr, path::PathBuf};

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Unix(PathBuf),
    Tcp(SocketAddr),
    /// The user's own socket beside others, for administration. The server starts without it.
    OwnSocket(PathBuf),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix(path) | Self::OwnSocket(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

/// Returns where the server listens: as the settings say, and on a Unix socket in any case.
pub(super) fn places(
    settings: &ServeSettings,
    environment: &Environment,
    directories: &Directories,
) -> Result<Vec<Place>> {
    let own = || own_socket(environment, directories);
    if settings.listen.is_empty() {
        return Ok(vec![Place::Unix(own())]);
    }
    let mut places: Vec<_> = settings.listen.iter().map(|text| place(text)).collect::<Result<_>>()?;
    if !places.iter().any(|place| matches!(place, Place::Unix(_))) {
        places.push(Place::OwnSocket(own()));
    }
    Ok(places)
}

/// Returns where the server offers its metrics over TCP, if anywhere.
pub(super) fn metrics_place(settings: &ServeSettings) -> Result<Option<Place>> {
    let Some(text) = &settings.operation().metrics_listen else { return Ok(None) };
    match place(text)? {
        tcp @ Place::Tcp(_) => Ok(Some(tcp)),
        Place::Unix(_) | Place::OwnSocket(_) => Err(refuse(format!(
            "--metrics-listen {text}: write tcp:ADDRESS:PORT; the server's own Unix socket has /metrics anyway"
        ))),
    }
}

/// Returns the path of the user's own socket, which `tiller connect` looks for too.
pub(super) fn own_socket(environment: &Environment, directories: &Directories) -> PathBuf {
    let runtime = environment.get("XDG_RUNTIME_DIR").filter(|path| path.starts_with('/'));
    match (environment.get("TILLER_HOME"), runtime) {
        (None, Some(runtime)) => PathBuf::from(runtime).join("tiller/serve.sock"),
        _ => directories.data.join("run/serve.sock").as_std().to_owned(),
    }
}

fn place(text: &str) -> Result<Place> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path.starts_with('/') {
            true => Ok(Place::Unix(path.into())),
            false => Err(refuse(format!("--listen {text}: the path of a Unix socket must be absolute"))),
        };
    }
    match tcp_address(text) {
        Some(address) => Ok(Place::Tcp(address)),
        None => Err(refuse(format!(
            "--listen {text}: write unix:PATH or tcp:ADDRESS:PORT, such as tcp:127.0.0.1:7000"
        ))),
    }
}

/// Returns the address in `tcp:ADDRESS:PORT`.
pub(super) fn tcp_address(text: &str) -> Option<SocketAddr> {
    let address = text.strip_prefix("tcp:")?.replacen("localhost:", "127.0.0.1:", 1);
    address.parse().ok()
}

/// Returns why it is not safe to listen: no credential protects the server, or one would be read by
/// others.
pub(super) fn dangers(
    places: &[Place],
    settings: &ServeSettings,
    tokens: &[TokenRow],
    has_identity_provider: bool,
) -> Vec<String> {
    let mut addresses = places.iter().filter_map(|place| match place {
        Place::Tcp(address) => Some(address),
        Place::Unix(_) | Place::OwnSocket(_) => None,
    });
    let mut dangers = Vec::new();
    let Some(first) = addresses.clone().next() else { return dangers };
    let now = wall_clock()();
    if !has_identity_provider && !tokens.iter().any(|row| row.is_valid_at(now)) {
        dangers.push(format!(
            "not listening on tcp:{first}: there is no token, so no client could use the server and nothing would \
             protect it; run: tiller token create NAME --user USER, or set serve.oidc.issuer"
        ));
    }
    let exposed = addresses.find(|address| !address.ip().is_loopback());
    if let Some(address) = exposed
        && settings.tls_cert.is_none()
        && settings.behind_proxy.is_empty()
    {
        dangers.push(format!(
            "not listening on tcp:{address}: tokens would cross the network without encryption; pass --tls-cert FILE \
             --tls-key FILE, or --behind-proxy CIDR if a reverse proxy speaks TLS, or listen on tcp:127.0.0.1:{}",
            address.port()
        ));
    }
    dangers
}

/// Returns the networks of reverse proxies.
pub(super) fn proxies(settings: &ServeSettings) -> Result<Proxies> {
    let networks = settings.behind_proxy.iter().map(|text| {
        text.parse().map_err(|_| {
            refuse(format!("--behind-proxy {text}: write a network in CIDR notation, such as 10.0.0.0/8"))
        })
    });
    Ok(Proxies(networks.collect::<Result<_>>()?))
}

/// Returns the files of the certificate, if there is one.
pub(super) fn certificate(settings: &ServeSettings) -> Result<Option<CertificateFiles>> {
    match (&settings.tls_cert, &settings.tls_key) {
        (Some(certificate), Some(key)) => Ok(Some(CertificateFiles {
            certificate: certificate.into(),
            key: key.into(),
            client_authorities: None,
        })),
        (None, None) => Ok(None),
        _ => Err(refuse("serve.tls_cert and serve.tls_key belong together; set both".to_owned())),
    }
}

/// Binds the listeners.
pub(super) async fn bind(places: Vec<Place>, settings: &ServeSettings) -> Result<Vec<Listener>> {
    let proxies = proxies(settings)?;
    let certificate = certificate(settings)?;
    let mut bound = Vec::new();
    for place in places {
        bound.push(match place {
            Place::Unix(path) => Listener::unix(path).await?,
            Place::OwnSocket(path) => match Listener::unix(path).await {
                Ok(listener) => listener,
                Err(error) => {
                    tracing::warn!(
                        "the server cannot be administered: {error}; pass --listen unix:PATH for a socket of its own"
                    );
                    continue;
                }
            },
            Place::Tcp(address) => {
                let hosts = settings.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
                let names = Names { hosts: Some(hosts), origins: settings.origins.clone() };
                Listener::tcp(address, certificate.clone(), proxies.clone(), names).await?
            }
        });
    }
    Ok(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_absolute_sockets_and_addresses() {
        assert_eq!(place("unix:/run/s").unwrap(), Place::Unix("/run/s".into()));
        assert_eq!(place("tcp:[::1]:7").unwrap(), Place::Tcp("[::1]:7".parse().unwrap()));
        assert_eq!(place("tcp:localhost:7").unwrap(), Place::Tcp("127.0.0.1:7".parse().unwrap()));
        for wrong in ["", "7000", "tcp:7000", "unix:s", "http://127.0.0.1:7", "tcp:agents.example:7"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }
}
