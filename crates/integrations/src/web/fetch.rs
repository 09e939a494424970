//! Fetches a page and makes text of it.

use super::{
    WebOptions,
    address::WebUrl,
    article::Article,
    body::{self, Kind},
    cache::Key,
    download::{self, Download, Downloaded},
};
use crate::{client::Network, limits::PAGE_BYTES};
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

/// The reason why there is no text of a page, for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(String);

impl super::Web {
    /// Fetches a page, or returns it from the cache.
    ///
    /// # Errors
    ///
    /// Fails if the page cannot be downloaded or has no text.
    pub async fn fetch(&self, fetch: &Fetch, options: &WebOptions) -> Result<Fetched, FetchError> {
        let key = Key { url: fetch.url.as_str().to_owned(), raw: fetch.raw };
        if let Some(page) = self.cache.get(&key) {
            return Ok(Fetched::Page(page));
        }
        let local = options.local_hosts.iter().any(|host| host == fetch.url.host());
        let network = if local { Network::Private } else { Network::Public };
        let download = download::download(self.clients.as_ref(), &fetch.url, network).await;
        match download.map_err(|error| FetchError(format!("{error}.")))? {
            Download::Elsewhere { status, from, to } => Ok(Fetched::Elsewhere { status, from, to }),
            Download::Page(downloaded) => {
                let may_be_kept = downloaded.may_be_kept;
                let page = Arc::new(self.page(downloaded, fetch.raw).await?);
                if may_be_kept {
                    self.cache.put(key, page.clone());
                }
                Ok(Fetched::Page(page))
            }
        }
    }

    async fn page(&self, downloaded: Downloaded, raw: bool) -> Result<Page, FetchError> {
        let Downloaded { url, content_type, bytes, is_whole, .. } = downloaded;
        let (media, encoding) = body::content_type(&content_type);
        let media = agent::label(&media, 100);
        let kind = body::kind(&media, &bytes);
        if kind == Kind::Binary {
            return Err(not_text(&url, &media, bytes.len(), is_whole));
        }
        let text = body::decode(&bytes, kind, encoding, is_whole);
        let Article { title, markdown } = match kind {
            Kind::Html if !raw => {
                let converted = self.converter.convert(text, url.as_str().to_owned()).await;
                converted.map_err(|why| {
                    FetchError(format!(
                        "{} has no text to return: {why}. With raw=true web_fetch returns its source.",
                        url.as_str()
                    ))
                })?
            }
            _ => Article { title: String::new(), markdown: agent::sanitise(&text) },
        };
        Ok(Page { url, title, media, text: markdown, is_whole })
    }
}

fn not_text(url: &WebUrl, media: &str, bytes: usize, is_whole: bool) -> FetchError {
    let (url, more) = (url.as_str(), if is_whole { "" } else { "more than " });
    let media = if media.is_empty() { "no declared type" } else { media };
    FetchError(format!(
        "{url} is not text ({media}, {more}{} KB). web_fetch returns text only; download it with a command if you need it.",
        bytes.div_ceil(1024)
    ))
}

impl Page {
    /// Returns the note on what is missing of the page, if anything is.
    pub(super) fn note(&self) -> Option<String> {
        (!self.is_whole)
            .then(|| format!("Only the first {} MB of the page were read.", PAGE_BYTES / 1024 / 1024))
    }
}
