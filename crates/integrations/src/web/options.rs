//! The user's settings for the web.

use super::search::SearchOptions;
use std::sync::Arc;

/// Returns the user's current settings for the web.
pub(super) type CurrentOptions = dyn Fn() -> Arc<WebOptions> + Send + Sync;

/// The user's settings for the web.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebOptions {
    /// Hosts that may be on this machine or in a private network.
    pub local_hosts: Vec<String>,
    /// The provider of searches, if the user chose one.
    pub search: Option<SearchOptions>,
}
