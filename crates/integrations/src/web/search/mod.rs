//! Searches the web through a provider that the user chose.

mod brave;
mod options;
mod query;
mod searxng;
mod tavily;

pub use options::{SearchError, SearchOptions, SearchProvider};
pub use query::{Domains, Search, SearchResult};

use crate::{
    client::ClientFactory,
    limits::{CALL, SNIPPET_CHARS, TITLE_CHARS},
    request::Request,
    retry,
    web::address::WebUrl,
};
use agent::Redactor;
use reqwest::{
    Method, Url,
    header::{ACCEPT, HeaderMap, HeaderValue},
};
use serde_json::Value;

/// Searches the web.
pub(super) async fn run(
    clients: &ClientFactory,
    redactor: &Redactor,
    search: &Search,
    options: &SearchOptions,
) -> Result<Vec<SearchResult>, SearchError> {
    if let Some(problem) = options.problem() {
        return Err(problem);
    }
    redactor.learn(options.key.clone());
    let (base, network) = options.base()?;
    let request = request(options, search, base)?;
    let client = clients(request.url.as_str(), network).map_err(SearchError::Failed)?;
    let sent = retry::send(&client, &request, true, network);
    let sent = tokio::time::timeout(CALL, sent).await;
    let response = sent.unwrap_or_else(|_| Err(format!("it took longer than {} s.", CALL.as_secs())));
    let response = response.map_err(|why| {
        let hint = hint(options.provider, &why);
        SearchError::Failed(redactor.redact(&format!("{why}{hint}")))
    })?;
    let unexpected = || SearchError::Failed("the response is not one of a search".to_owned());
    let found = results(options.provider, &response.data).ok_or_else(unexpected)?;
    let fits = |result: &SearchResult| search.takes(result);
    let limit = usize::try_from(search.limit).unwrap_or(usize::MAX);
    Ok(found.iter().filter_map(|found| result(options.provider, found)).filter(fits).take(limit).collect())
}

fn request(options: &SearchOptions, search: &Search, base: Url) -> Result<Request, SearchError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let request = Request { method: Method::GET, url: base, headers, body: None, shown: None };
    let key = options.key.as_deref().unwrap_or_default();
    let request = match options.provider {
        SearchProvider::Brave => brave::request(request, search, key),
        SearchProvider::Tavily => tavily::request(request, search, key),
        SearchProvider::SearXng => Ok(searxng::request(request, search)),
    };
    request.map_err(|_| SearchError::Failed("the key contains characters that no key has".to_owned()))
}

/// Returns the list of results in a response; `None` if it is no response to a search.
fn results(provider: SearchProvider, data: &Value) -> Option<&[Value]> {
    let list = match provider {
        SearchProvider::Brave => data.pointer("/web/results"),
        SearchProvider::Tavily | SearchProvider::SearXng => data.pointer("/results"),
    };
    // Brave leaves the list out if nothing was found.
    let is_empty = || provider == SearchProvider::Brave && data.get("query").is_some();
    list.and_then(Value::as_array).map(Vec::as_slice).or_else(|| is_empty().then_some(&[]))
}

/// Reads one result; `None` if it has no URL of the web.
fn result(provider: SearchProvider, found: &Value) -> Option<SearchResult> {
    let text = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default();
    let excerpt = match provider {
        SearchProvider::Brave => brave::plain(text("description")),
        SearchProvider::Tavily | SearchProvider::SearXng => text("content").to_owned(),
    };
    let title = match provider {
        SearchProvider::Brave => brave::plain(text("title")),
        SearchProvider::Tavily | SearchProvider::SearXng => text("title").to_owned(),
    };
    let line = |text: &str, most| agent::label(&text.split_whitespace().collect::<Vec<_>>().join(" "), most);
    Some(SearchResult {
        url: WebUrl::parse(text("url")).ok()?.as_str().to_owned(),
        title: line(&title, TITLE_CHARS),
        snippet: line(&excerpt, SNIPPET_CHARS),
    })
}

/// Returns what to do about a failure, where that is known.
fn hint(provider: SearchProvider, why: &str) -> &'static str {
    match provider {
        SearchProvider::SearXng if why.starts_with("HTTP 403") => {
            " (the server's settings must list json below search.formats)"
        }
        SearchProvider::Brave if why.starts_with("HTTP 422") => " (check the key, BRAVE_API_KEY)",
        _ => "",
    }
}
