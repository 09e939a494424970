//! What all fetches and searches of a run share.

use super::{
    fetch::{FetchError, Fetcher},
    options::WebOptions,
    page::{Fetch, Fetched},
    search::{self, Search, SearchError, SearchResult},
};
use crate::client::ClientFactory;
use agent::Redactor;
use std::sync::Arc;

/// Fetches pages and searches. Shared for the whole run, because it caches pages.
pub struct Web {
    clients: Arc<ClientFactory>,
    redactor: Redactor,
    fetcher: Fetcher,
}

impl Web {
    /// Creates the state with this factory for HTTP clients. The redactor learns the keys of search
    /// providers.
    pub fn new(clients: Arc<ClientFactory>, redactor: Redactor) -> Self {
        Self { fetcher: Fetcher::new(clients.clone()), clients, redactor }
    }

    /// Fetches a page, or returns it from the cache.
    ///
    /// # Errors
    ///
    /// Fails if the page cannot be downloaded or has no text.
    pub async fn fetch(&self, fetch: &Fetch, options: &WebOptions) -> Result<Fetched, FetchError> {
        self.fetcher.fetch(fetch, options).await
    }

    /// Searches the web.
    ///
    /// # Errors
    ///
    /// Fails if no provider is configured, or its request fails.
    pub async fn search(
        &self,
        search: &Search,
        options: &WebOptions,
    ) -> Result<Vec<SearchResult>, SearchError> {
        let options = options.search.as_ref().ok_or(SearchError::NotConfigured)?;
        search::run(self.clients.as_ref(), &self.redactor, search, options).await
    }
}
