//! A page: what is requested, and what comes of it.

use super::address::WebUrl;
use crate::limits::PAGE_BYTES;
use std::sync::Arc;

/// A page to fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// The URL.
    pub url: WebUrl,
    /// Whether an HTML page is returned as its source, not as Markdown.
    pub raw: bool,
}

/// The outcome of a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fetched {
    /// The page.
    Page(Arc<Page>),
    /// The server redirects to another one, which was not contacted: permission is given by host.
    Elsewhere {
        /// The status of the redirect.
        status: u16,
        /// The URL that redirects.
        from: WebUrl,
        /// The URL to fetch instead.
        to: WebUrl,
    },
}

/// A page as text. It comes from the web: it is displayable, but otherwise unchecked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The URL, after redirects.
    pub url: WebUrl,
    /// The title of an HTML page; may be empty.
    pub title: String,
    /// The media type that the server declared; may be empty.
    pub media: String,
    /// The text: Markdown for an HTML page.
    pub text: String,
    /// Whether the text is the whole page.
    pub is_whole: bool,
}

impl Page {
    /// Returns the note on what is missing of the page, if anything is.
    pub(super) fn note(&self) -> Option<String> {
        (!self.is_whole)
            .then(|| format!("Only the first {} MB of the page were read.", PAGE_BYTES / 1024 / 1024))
    }
}
