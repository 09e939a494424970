//! Fetches a page and makes text of it.

use super::{
    address::WebUrl,
    article::{Article, Converter},
    body::{self, Kind},
    cache::{Cache, Key},
    download::{self, Download, Downloaded},
    options::WebOptions,
    page::{Fetch, Fetched, Page},
};
use crate::client::{ClientFactory, Network};
use std::sync::Arc;

/// Fetches pages, and keeps them for a time.
pub(super) struct Fetcher {
    clients: Arc<ClientFactory>,
    cache: Cache,
    converter: Converter,
}

/// The reason why there is no text of a page, for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FetchError(String);

impl Fetcher {
    pub(super) fn new(clients: Arc<ClientFactory>) -> Self {
        Self { clients, cache: Cache::default(), converter: Converter::default() }
    }

    /// Fetches a page, or returns it from the cache.
    pub(super) async fn fetch(&self, fetch: &Fetch, options: &WebOptions) -> Result<Fetched, FetchError> {
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
