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
mod material;
mod nesting;
mod options;
mod page;
mod search;
mod search_tool;
mod state;
#[cfg(test)]
mod tests;
mod tools;

pub use address::{WebUrl, WebUrlError};
pub use fetch::FetchError;
pub use options::WebOptions;
pub use page::{Fetch, Fetched, Page};
pub use search::{Domains, Search, SearchError, SearchOptions, SearchProvider, SearchResult};
pub use state::Web;
pub use tools::WebTools;
