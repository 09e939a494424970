//! HTTP clients for services and the web, behind the address guard, and those of a server's users.

use crate::options::Options;
use ::integrations::{AddressGuard, Client, ClientFactory, Network, check_for_users};
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

/// Creates the factory of clients for services and the web with these options. For a server's user
/// who stays in a folder, addresses that are not public are those that the server's settings name,
/// whatever the user's own say.
pub(crate) fn service_clients(options: &Options) -> Arc<ClientFactory> {
    let Some(named) = options.addresses_of_user().cloned() else { return guarded_clients() };
    let public = HttpClients::resolving(AddressGuard::for_users());
    let private = HttpClients::resolving(AddressGuard::new(Network::Private));
    Arc::new(move |url: &str, network: Network| -> Result<Client, String> {
        if network == Network::Private && named.has(url) {
            return private.client(url);
        }
        check_for_users(url)?;
        public.client(url)
    })
}

/// Creates the clients for model providers and MCP servers with these options. Those of a server's
/// user who stays in a folder connect to public addresses and to those that the server's settings
/// name.
pub(crate) fn clients(options: &Options) -> HttpClients {
    match options.addresses_of_user() {
        Some(named) => HttpClients::restricted(named.clone(), check_for_users, AddressGuard::for_users()),
        None => HttpClients::default(),
    }
}
