//! TCP sockets, and the proxies that forward for others.

#[cfg(target_os = "linux")]
use crate::limits::TCP_USER_TIMEOUT;
use axum::http::HeaderMap;
use ipnet::IpNet;
use std::net::IpAddr;
use tokio::net::TcpStream;

/// The networks of reverse proxies, whose `X-Forwarded-For` and `X-Forwarded-Proto` are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies(pub Vec<IpNet>);

impl Proxies {
    /// Whether an address is that of a proxy.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns the address that a request comes from: the last one in `X-Forwarded-For` that is no
    /// proxy, if the peer is one.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        if !self.has(peer) {
            return peer.to_canonical();
        }
        let values = headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
        let named: Vec<&str> = values.flat_map(|value| value.split(',')).map(str::trim).collect();
        for text in named.iter().rev() {
            let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() else { break };
            if !self.has(address) {
                return address.to_canonical();
            }
        }
        peer.to_canonical()
    }

    /// Whether the client used TLS up to the proxy.
    pub(crate) fn is_secure(&self, peer: IpAddr, headers: &HeaderMap) -> bool {
        self.has(peer) && headers.get("x-forwarded-proto").is_some_and(|value| value == "https")
    }
}

/// Sets the options of an accepted socket.
pub(crate) fn tune(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY cannot be set");
    }
    #[cfg(target_os = "linux")]
    {
        let milliseconds = u32::try_from(TCP_USER_TIMEOUT.as_millis()).unwrap_or(u32::MAX);
        if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds) {
            tracing::debug!(%error, "TCP_USER_TIMEOUT cannot be set");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forwarded(value: &str) -> HeaderMap {
        [("x-forwarded-for".parse().unwrap(), value.parse().unwrap())].into_iter().collect()
    }

    #[test]
    fn only_proxies_may_name_another_client() {
        let proxies = Proxies(vec!["10.0.0.0/8".parse().unwrap()]);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for (peer, header, expected) in [
            ("192.0.2.1", "203.0.113.9", "192.0.2.1"),
            ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
            ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
            ("10.0.0.1", "198.51.100.7, 203.0.113.9", "203.0.113.9"),
            ("10.0.0.1", "203.0.113.9, 10.2.0.1", "203.0.113.9"),
            ("10.0.0.1", "unknown", "10.0.0.1"),
            ("10.0.0.1", "[2001:db8::1]", "2001:db8::1"),
            ("10.0.0.1", "", "10.0.0.1"),
        ] {
            assert_eq!(
                proxies.client(address(peer), &forwarded(header)),
                address(expected),
                "{peer} {header}"
            );
        }
    }
}
