//! The interface to the creator of HTTP clients.

/// Creates a client for a URL that can connect to the given network only.
pub type ClientFactory = dyn Fn(&str, Network) -> Result<Client, String> + Send + Sync;

/// An HTTP client. It must not follow redirects or use a proxy, and resolves names with the
/// [`AddressGuard`](crate::AddressGuard) of its network.
pub type Client = reqwest::Client;

/// The addresses that a client may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The public internet.
    Public,
    /// Also this machine and private networks: the user has declared the service to be there.
    Private,
}
