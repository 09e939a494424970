//! The seam to whoever makes HTTP clients.

/// Makes the client for an address, by where it may connect to.
pub type ClientFactory = dyn Fn(&str, Network) -> Result<Client, String> + Send + Sync;

/// A client for HTTP. It follows no redirects, uses no proxy, and resolves names with the [`Guard`](crate::Guard) of its network.
pub type Client = reqwest::Client;

/// Where a client may connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The public internet.
    Public,
    /// This machine and private networks too: the user said that the service is there.
    Private,
}
