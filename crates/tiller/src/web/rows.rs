//! The answers of `tiller web`, for programs.

use schemars::JsonSchema;
use serde::Serialize;

/// A page that was fetched.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FetchedPage {
    /// The address, after redirects.
    pub(super) url: String,
    /// Its title.
    pub(super) title: String,
    /// Its media type.
    pub(super) media_type: String,
    /// Its text.
    pub(super) text: String,
    /// Whether that is all of it.
    pub(super) whole: bool,
}

/// The results of a search.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WebResults {
    /// What was searched for.
    pub(super) query: String,
    /// The results, best first.
    pub(super) results: Vec<WebResult>,
}

/// A result of a search.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WebResult {
    /// The title of the page.
    pub(super) title: String,
    /// Its address.
    pub(super) url: String,
    /// A part of its text.
    pub(super) snippet: String,
}

/// The search provider that was chosen.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WebConfigured {
    /// Its name.
    pub(super) provider: String,
    /// The settings file that was written.
    pub(super) path: String,
    /// Whether a key was stored.
    pub(super) key_stored: bool,
}

/// Whether the web can be searched.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WebState {
    /// The state of the search.
    pub(super) search: SearchState,
    /// Hosts of the local network that may be fetched.
    pub(super) local_hosts: Vec<String>,
}

/// The state of the search.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SearchState {
    /// The provider; off if there is none.
    pub(super) provider: String,
    /// Whether it can be used.
    pub(super) ready: bool,
    /// What is missing.
    pub(super) problem: Option<String>,
}
