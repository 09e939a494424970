//! The web: fetching pages as text, and searching through a provider that the user chose.
//!
//! Pages are hostile. They are requested from public addresses only (the address guard), within
//! one host, up to a size and a time; nothing is decompressed and no script is run. What they
//! contain reaches models as marked material, without characters that hide or repaint.

mod address;
mod article;
mod body;
mod cache;
mod download;
mod fetch;
mod fetch_tool;
mod nesting;
mod search;
mod search_tool;
#[cfg(test)]
mod tests;
mod tools;

pub use address::{WebUrl, WebUrlError};
pub use fetch::{Fetch, FetchError, Fetched, Page};
pub use search::{Domains, Search, SearchError, SearchOptions, SearchProvider, SearchResult};
pub use tools::WebTools;

use crate::client::ClientFactory;
use agent::Redactor;
use std::sync::Arc;

/// Fetches pages and searches. Shared for the whole run, because it caches pages.
pub struct Web {
    clients: Arc<ClientFactory>,
    redactor: Redactor,
    cache: cache::Cache,
    converter: article::Converter,
}

/// The user's settings for the web.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebOptions {
    /// Hosts that may be on this machine or in a private network.
    pub local_hosts: Vec<String>,
    /// The provider of searches, if the user chose one.
    pub search: Option<SearchOptions>,
}

impl Web {
    /// Creates the state with this factory for HTTP clients. The redactor learns the keys of search
    /// providers.
    pub fn new(clients: Arc<ClientFactory>, redactor: Redactor) -> Self {
        Self { clients, redactor, cache: cache::Cache::default(), converter: article::Converter::default() }
    }
}
