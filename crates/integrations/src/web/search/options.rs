//! The provider of searches, as the user configured it.

use crate::{client::Network, guard};
use reqwest::Url;

const BRAVE: &str = "https://api.search.brave.com/res/v1";
const TAVILY: &str = "https://api.tavily.com";

/// A provider of web searches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchProvider {
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// A SearXNG server.
    SearXng,
}

/// The user's settings for searches.
#[derive(Clone, PartialEq, Eq)]
pub struct SearchOptions {
    /// The provider.
    pub provider: SearchProvider,
    /// The base URL; the provider's own if `None`. SearXNG has none of its own.
    pub url: Option<String>,
    /// The key, which SearXNG does not need.
    pub key: Option<String>,
}

/// The reason why a search failed, for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// The user chose no provider.
    #[error(
        "No search provider is configured. The user can set web.search.provider (see `tiller web status`)."
    )]
    NotConfigured,
    /// The provider needs a key.
    #[error("The search provider {0} needs a key: set {1}, or run `tiller web configure {0} --key-stdin`.")]
    NoKey(&'static str, &'static str),
    /// The provider needs a URL.
    #[error("The search provider {0} needs the URL of a server: set web.search.url.")]
    NoUrl(&'static str),
    /// The URL cannot be used.
    #[error("The setting web.search.url cannot be used: {0}.")]
    Url(String),
    /// The request failed.
    #[error("The search failed: {0}")]
    Failed(String),
}

impl SearchProvider {
    /// Every provider with its name in the settings.
    pub const ALL: [(&'static str, Self); 3] =
        [("brave", Self::Brave), ("tavily", Self::Tavily), ("searxng", Self::SearXng)];

    /// Returns the name in the settings.
    pub fn id(self) -> &'static str {
        Self::ALL.iter().find(|(_, provider)| *provider == self).map_or("", |(id, _)| id)
    }

    /// Returns the environment variable that holds its key; `None` if it needs none.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some("BRAVE_API_KEY"),
            Self::Tavily => Some("TAVILY_API_KEY"),
            Self::SearXng => None,
        }
    }

    fn own_url(self) -> Option<&'static str> {
        match self {
            Self::Brave => Some(BRAVE),
            Self::Tavily => Some(TAVILY),
            Self::SearXng => None,
        }
    }
}

impl SearchOptions {
    /// Returns what is missing for searches, if anything is.
    pub fn problem(&self) -> Option<SearchError> {
        let provider = self.provider;
        let no_key = provider.key_variable().filter(|_| self.key.is_none());
        if let Some(variable) = no_key {
            return Some(SearchError::NoKey(provider.id(), variable));
        }
        self.base().err()
    }

    /// Returns the base URL, and the network that may be connected to. A server of the user's own
    /// may be on this machine or in a private network.
    pub(super) fn base(&self) -> Result<(Url, Network), SearchError> {
        let network = if self.url.is_some() { Network::Private } else { Network::Public };
        let url = self.url.as_deref().or(self.provider.own_url());
        let url = url.ok_or(SearchError::NoUrl(self.provider.id()))?;
        let refused = |refused: guard::RefusedAddress| SearchError::Url(refused.to_string());
        let base = guard::checked_base(url).map_err(refused)?;
        guard::check(&base, network).map_err(refused)?;
        if self.key.is_some() && base.scheme() == "http" && !guard::is_literally_local(url) {
            let host = base.host_str().unwrap_or_default().to_owned();
            return Err(refused(guard::RefusedAddress::Unencrypted(host)));
        }
        Ok((base, network))
    }
}

/// Prints no key.
impl std::fmt::Debug for SearchOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchOptions").field("provider", &self.provider).field("url", &self.url).finish()
    }
}
