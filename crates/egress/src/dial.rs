//! Connections to hosts, of which every address is checked.

use crate::limits::{CONNECT_WAIT, RESOLVE_WAIT};
use agent::{ConnectionJudge, Destination, refused_address};
use async_trait::async_trait;
use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Looks up addresses and connects to them.
#[async_trait]
pub trait Dialer: Debug + Send + Sync {
    /// Returns the addresses of a host.
    ///
    /// # Errors
    /// The lookup failed, or the host does not exist.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Connects to an address.
    ///
    /// # Errors
    /// Nothing accepts connections there.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;

    /// Returns whether an address is one of this machine.
    fn is_own(&self, address: IpAddr) -> bool;
}

/// Connects through the network of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

#[async_trait]
impl Dialer for Direct {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }

    fn is_own(&self, address: IpAddr) -> bool {
        // Only an address of this machine can be bound.
        UdpSocket::bind((address, 0)).is_ok()
    }
}

/// Returns the addresses of a host.
pub(crate) async fn resolve(dialer: &dyn Dialer, name: &str) -> Result<Vec<IpAddr>, String> {
    match timeout(RESOLVE_WAIT, dialer.resolve(name)).await {
        Ok(Ok(found)) if !found.is_empty() => Ok(found),
        Ok(_) => Err("it has no address".to_owned()),
        Err(_) => Err(format!("its address was not found within {} s", RESOLVE_WAIT.as_secs())),
    }
}

/// Connects to a destination that may be connected to. The addresses are looked up once, and the
/// connection uses one of those that were checked.
pub(crate) async fn dial(
    dialer: &dyn Dialer,
    judge: &dyn ConnectionJudge,
    destination: &Destination,
) -> Result<TcpStream, String> {
    let addresses = match destination {
        Destination::Address(address) => vec![*address],
        Destination::Local(port) => {
            return first(dialer, local_addresses(*port)).await;
        }
        Destination::Host { name, port } => {
            let found = resolve(dialer, name).await?;
            let is_local = judge.is_local(name);
            // Check all of them: a private address among public ones is an attack or a mistake.
            if let Some(why) = found.iter().find_map(|address| refused_address(*address, is_local)) {
                return Err(why.to_owned());
            }
            found.into_iter().map(|address| SocketAddr::new(address, *port)).collect()
        }
    };
    if addresses.iter().any(|address| dialer.is_own(address.ip())) {
        return Err("its address is that of this machine".to_owned());
    }
    first(dialer, addresses).await
}

/// Returns the loopback addresses of this machine.
fn local_addresses(port: u16) -> Vec<SocketAddr> {
    vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
}

/// Connects to the first address that accepts.
async fn first(dialer: &dyn Dialer, addresses: Vec<SocketAddr>) -> Result<TcpStream, String> {
    let mut failure = String::new();
    for address in addresses {
        match timeout(CONNECT_WAIT, dialer.connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = error.to_string(),
            Err(_) => failure = format!("no connection within {} s", CONNECT_WAIT.as_secs()),
        }
    }
    Err(failure)
}
