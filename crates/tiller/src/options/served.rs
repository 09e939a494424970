//! What bounds a user of a server who is not the account that runs it.

use super::{Directories, Options, Provider, Providers, Secret};
use ::providers::{KNOWN_PROVIDERS, NamedAddresses, local_addresses};
use std::collections::BTreeMap;
use system::AbsPath;

/// A user of a server who is not the account that runs it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServedUser {
    /// The directories of the account that runs the server, which the user's commands cannot read.
    pub(crate) server: Directories,
    /// The server's keys that the user may use.
    pub(crate) shared: SharedKeys,
    /// All keys of the server: no command of the user gets them.
    pub(crate) secrets: Vec<String>,
    /// The addresses that the server's own settings name. A user who stays in a folder reaches no
    /// others that are not public.
    pub(crate) addresses: NamedAddresses,
}

/// Returns the addresses that a server's settings name: those of its model providers, of the model
/// servers on its machine, of its search, and its local hosts.
pub(crate) fn named_addresses(options: &Options) -> NamedAddresses {
    let mut named = NamedAddresses::default();
    let providers = options.providers.named_ones().filter_map(|(_, provider)| provider.base_url.as_deref());
    // The vendors' own addresses, which a proxy of the server may have to be asked for.
    let known = KNOWN_PROVIDERS.iter().map(|known| known.base_url);
    let search = options.integrations.web.search_url.as_deref();
    providers.chain(known).chain(search).for_each(|url| named.add_url(url));
    local_addresses(&options.providers.local).iter().for_each(|url| named.add_url(url));
    options.integrations.web.local_hosts.iter().for_each(|host| named.add_host(host));
    named
}

/// The folder of a user, below that of all users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserFolder {
    pub(crate) own: AbsPath,
    pub(crate) all: AbsPath,
}

/// Keys of a server that its users may use without seeing them.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SharedKeys {
    /// By the provider's name, with the address that the key may be sent to.
    providers: BTreeMap<String, Provider>,
    /// By the id of the search provider.
    search: BTreeMap<&'static str, Secret>,
}

impl SharedKeys {
    /// Returns those keys of the server's own options that `is_shared` names. It is given the name
    /// of a provider and the variable that may hold its key.
    pub(crate) fn of(
        providers: &Providers,
        search: impl IntoIterator<Item = (&'static str, Option<&'static str>, Secret)>,
        is_shared: impl Fn(&str, Option<&str>) -> bool,
    ) -> Self {
        let all = providers.named_ones();
        let all = all.filter(|(_, provider)| provider.api_key.is_some());
        let all = all.filter(|(name, provider)| is_shared(name, Some(&provider.api_key_env)));
        let search = search.into_iter().filter(|(id, variable, _)| is_shared(id, *variable));
        Self {
            providers: all.map(|(name, provider)| (name.to_owned(), provider.clone())).collect(),
            search: search.map(|(id, _, key)| (id, key)).collect(),
        }
    }

    /// Returns the key for a provider, if the user's settings send it where the server's do.
    pub(crate) fn of_provider(&self, name: &str, provider: &Provider) -> Option<Secret> {
        let shared = self.providers.get(name).filter(|shared| shared.base_url == provider.base_url)?;
        shared.api_key.clone()
    }

    /// Returns the key of a search provider.
    pub(crate) fn of_search(&self, id: &str) -> Option<Secret> {
        self.search.get(id).cloned()
    }

    /// Returns the names of the providers whose keys are shared.
    pub(crate) fn names(&self) -> Vec<String> {
        let search = self.search.keys().map(|id| (*id).to_owned());
        self.providers.keys().cloned().chain(search).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(base_url: Option<&str>, key: &str) -> Provider {
        Provider {
            base_url: base_url.map(str::to_owned),
            api_key: Some(Secret::new(key)),
            ..Providers::default().openai
        }
    }

    #[test]
    fn a_shared_key_goes_only_where_the_server_sends_it() {
        let providers = Providers {
            openai: provider(None, "the server's"),
            anthropic: provider(Some("https://proxy"), "not shared"),
            ..Providers::default()
        };
        let shared = SharedKeys::of(&providers, [], |name, _| name == "openai");
        let key = |name: &str, url: Option<&str>| {
            let key = shared.of_provider(name, &provider(url, "the user's"));
            key.map(|key| key.reveal().to_owned())
        };
        assert_eq!(key("openai", None).as_deref(), Some("the server's"));
        assert_eq!(key("openai", Some("https://evil")), None);
        assert_eq!(key("anthropic", Some("https://proxy")), None);
        assert_eq!(shared.names(), ["openai"]);
    }
}
