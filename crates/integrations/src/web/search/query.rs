//! A search and its results.

use crate::{
    limits::DOMAINS,
    web::address::{WebUrl, is_below},
};
use reqwest::Url;

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

    /// Returns the names.
    pub(super) fn names(&self) -> &[String] {
        &self.0
    }

    fn cover(&self, host: &str) -> bool {
        self.0.iter().any(|domain| is_below(host, domain))
    }
}

impl Search {
    pub(super) fn takes(&self, result: &SearchResult) -> bool {
        let Ok(url) = WebUrl::parse(&result.url) else { return false };
        let allowed = self.allowed_domains.0.is_empty() || self.allowed_domains.cover(url.host());
        allowed && !self.blocked_domains.cover(url.host())
    }

    /// Returns the query with the operators that most engines have for domains. Results are
    /// filtered in any case.
    pub(super) fn with_operators(&self) -> String {
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
pub(super) fn set_path(url: &mut Url, path: &str) {
    let path = format!("{}/{path}", url.path().trim_end_matches('/'));
    url.set_path(&path);
}
