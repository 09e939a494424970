//! The options of the web: which local hosts are fetched from, and who is asked for searches.

use super::Secret;
use ::integrations::{SearchOptions, SearchProvider, WebOptions};
use std::collections::BTreeMap;

/// Fetching pages and searching.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Web {
    /// Hosts that may be on this machine or in a private network.
    pub(crate) local_hosts: Vec<String>,
    pub(crate) search: SearchChoice,
    /// The base URL of the search provider, instead of its own.
    pub(crate) search_url: Option<String>,
    /// The keys of search providers, by the provider's name.
    pub(crate) keys: BTreeMap<&'static str, Secret>,
}

/// Who is asked for searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SearchChoice {
    /// No one.
    #[default]
    Off,
    /// A provider of searches.
    Provider(SearchProvider),
    /// The vendor of the model, where its wire has a search.
    Hosted,
}

impl SearchChoice {
    /// The values of the setting.
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("off", Self::Off),
        ("brave", Self::Provider(SearchProvider::Brave)),
        ("tavily", Self::Provider(SearchProvider::Tavily)),
        ("searxng", Self::Provider(SearchProvider::SearXng)),
        ("hosted", Self::Hosted),
    ];

    /// Returns the value of the setting.
    pub(crate) fn id(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or("", |(id, _)| id)
    }
}

impl Web {
    /// Converts the options into the form of the `integrations` crate.
    pub(crate) fn resolved(&self) -> WebOptions {
        let search = match self.search {
            SearchChoice::Off | SearchChoice::Hosted => None,
            SearchChoice::Provider(provider) => Some(SearchOptions {
                provider,
                url: self.search_url.clone(),
                key: self.keys.get(provider.id()).map(|key| key.reveal().to_owned()),
            }),
        };
        WebOptions { local_hosts: self.local_hosts.clone(), search }
    }
}
