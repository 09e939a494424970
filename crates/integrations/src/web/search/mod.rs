//! Searches the web through a provider that the user chose.

mod brave;
mod searxng;
mod tavily;

use super::{WebOptions, WebUrl, address::is_below};
use crate::{
    client::Network,
    guard,
    limits::{CALL, DOMAINS, SNIPPET_CHARS, TITLE_CHARS},
    request::Request,
    retry,
};
use reqwest::{
    Method, Url,
    header::{ACCEPT, HeaderMap, HeaderValue},
};
use serde_json::Value;

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

/// A search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Search {
    /// The query.
    pub query: String,
    /// The most results to return.
    pub limit: u64,
    /// If there are any: only results of these domains and their subdomains.
    pub allowed_domains: Domains,
    /// No results of these domains and their subdomains.
    pub blocked_domains: Domains,
}

/// One result of a search: text from the web, displayable on single lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchResult {
    /// The title.
    pub title: String,
    /// The URL.
    pub url: String,
    /// An excerpt; may be empty.
    pub snippet: String,
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

/// Names of domains, in ASCII and lower case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Domains(Vec<String>);

impl Domains {
    /// Parses names of domains.
    ///
    /// # Errors
    ///
    /// Fails if a name is invalid or there are too many.
    pub fn parse(names: &[String]) -> Result<Self, String> {
        if names.len() > DOMAINS {
            return Err(format!("at most {DOMAINS} domains are possible"));
        }
        let domain = |name: &String| {
            let url = WebUrl::parse(&format!("https://{}/", name.trim())).ok();
            let host = url.filter(|url| url.url().path() == "/" && url.url().query().is_none());
            let host = host.map(|url| url.host().to_owned());
            host.ok_or_else(|| {
                format!("{} is not the name of a domain, such as docs.rs", agent::one_line(name))
            })
        };
        names.iter().map(domain).collect::<Result<_, _>>().map(Self)
    }

    fn cover(&self, host: &str) -> bool {
        self.0.iter().any(|domain| is_below(host, domain))
    }
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
            Self::Brave => Some(brave::URL),
            Self::Tavily => Some(tavily::URL),
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
    fn base(&self) -> Result<(Url, Network), SearchError> {
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

    fn request(&self, search: &Search, base: Url) -> Result<Request, SearchError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let request = Request { method: Method::GET, url: base, headers, body: None, shown: None };
        let key = self.key.as_deref().unwrap_or_default();
        let request = match self.provider {
            SearchProvider::Brave => brave::request(request, search, key),
            SearchProvider::Tavily => tavily::request(request, search, key),
            SearchProvider::SearXng => Ok(searxng::request(request, search)),
        };
        request.map_err(|_| SearchError::Failed("the key contains characters that no key has".to_owned()))
    }

    /// Returns the list of results in a response; `None` if it is no response to a search.
    fn results<'a>(&self, data: &'a Value) -> Option<&'a [Value]> {
        let list = match self.provider {
            SearchProvider::Brave => data.pointer("/web/results"),
            SearchProvider::Tavily | SearchProvider::SearXng => data.pointer("/results"),
        };
        // Brave leaves the list out if nothing was found.
        let is_empty = || self.provider == SearchProvider::Brave && data.get("query").is_some();
        list.and_then(Value::as_array).map(Vec::as_slice).or_else(|| is_empty().then_some(&[]))
    }
}

/// Prints no key.
impl std::fmt::Debug for SearchOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchOptions").field("provider", &self.provider).field("url", &self.url).finish()
    }
}

impl super::Web {
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
        if let Some(problem) = options.problem() {
            return Err(problem);
        }
        self.redactor.learn(options.key.clone());
        let (base, network) = options.base()?;
        let request = options.request(search, base)?;
        let client = (self.clients)(request.url.as_str(), network).map_err(SearchError::Failed)?;
        let sent = retry::send(&client, &request, true, network);
        let sent = tokio::time::timeout(CALL, sent).await;
        let response = sent.unwrap_or_else(|_| Err(format!("it took longer than {} s.", CALL.as_secs())));
        let response = response.map_err(|why| {
            let hint = options.hint(&why);
            SearchError::Failed(self.redactor.redact(&format!("{why}{hint}")))
        })?;
        let unexpected = || SearchError::Failed("the response is not one of a search".to_owned());
        let found = options.results(&response.data).ok_or_else(unexpected)?;
        let fits = |result: &SearchResult| search.takes(result);
        let limit = usize::try_from(search.limit).unwrap_or(usize::MAX);
        Ok(found.iter().filter_map(|found| options.result(found)).filter(fits).take(limit).collect())
    }
}

impl SearchOptions {
    /// Reads one result; `None` if it has no URL of the web.
    fn result(&self, found: &Value) -> Option<SearchResult> {
        let text = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default();
        let excerpt = match self.provider {
            SearchProvider::Brave => brave::plain(text("description")),
            SearchProvider::Tavily | SearchProvider::SearXng => text("content").to_owned(),
        };
        let title = match self.provider {
            SearchProvider::Brave => brave::plain(text("title")),
            SearchProvider::Tavily | SearchProvider::SearXng => text("title").to_owned(),
        };
        let line =
            |text: &str, most| agent::label(&text.split_whitespace().collect::<Vec<_>>().join(" "), most);
        Some(SearchResult {
            url: WebUrl::parse(text("url")).ok()?.as_str().to_owned(),
            title: line(&title, TITLE_CHARS),
            snippet: line(&excerpt, SNIPPET_CHARS),
        })
    }

    /// Returns what to do about a failure, where that is known.
    fn hint(&self, why: &str) -> &'static str {
        match self.provider {
            SearchProvider::SearXng if why.starts_with("HTTP 403") => {
                " (the server's settings must list json below search.formats)"
            }
            SearchProvider::Brave if why.starts_with("HTTP 422") => " (check the key, BRAVE_API_KEY)",
            _ => "",
        }
    }
}

impl Search {
    fn takes(&self, result: &SearchResult) -> bool {
        let Ok(url) = WebUrl::parse(&result.url) else { return false };
        let allowed = self.allowed_domains.0.is_empty() || self.allowed_domains.cover(url.host());
        allowed && !self.blocked_domains.cover(url.host())
    }

    /// Returns the query with the operators that most engines have for domains. Results are
    /// filtered in any case.
    fn with_operators(&self) -> String {
        let mut query = self.query.clone();
        let sites: Vec<_> = self.allowed_domains.0.iter().map(|domain| format!("site:{domain}")).collect();
        match sites.as_slice() {
            [] => {}
            [site] => query.push_str(&format!(" {site}")),
            sites => query.push_str(&format!(" ({})", sites.join(" OR "))),
        }
        self.blocked_domains.0.iter().for_each(|domain| query.push_str(&format!(" -site:{domain}")));
        query
    }
}

/// Appends a path to the base URL.
fn set_path(url: &mut Url, path: &str) {
    let path = format!("{}/{path}", url.path().trim_end_matches('/'));
    url.set_path(&path);
}
