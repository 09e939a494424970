//! HTTP clients for services and the web, behind the address guard.

use ::integrations::{AddressGuard, Client, ClientFactory, Network};
use providers::HttpClients;
use std::sync::Arc;

/// Creates the factory of clients. A client is built when the first request needs it.
pub(crate) fn guarded_clients() -> Arc<ClientFactory> {
    let clients =
        [Network::Public, Network::Private].map(|network| HttpClients::resolving(AddressGuard::new(network)));
    Arc::new(move |url: &str, network: Network| -> Result<Client, String> {
        let [public, private] = &clients;
        if network == Network::Public { public.client(url) } else { private.client(url) }
    })
}
