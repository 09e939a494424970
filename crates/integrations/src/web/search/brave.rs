//! Brave Search: <https://api-dashboard.search.brave.com/app/documentation/web-search>.

use super::query::{Search, set_path};
use crate::request::Request;
use reqwest::header::{HeaderValue, InvalidHeaderValue};

pub(super) fn request(
    mut request: Request,
    search: &Search,
    key: &str,
) -> Result<Request, InvalidHeaderValue> {
    let mut key = HeaderValue::from_str(key)?;
    key.set_sensitive(true);
    request.headers.insert("x-subscription-token", key);
    set_path(&mut request.url, "web/search");
    request
        .url
        .query_pairs_mut()
        .append_pair("q", &search.with_operators())
        .append_pair("count", &search.limit.to_string())
        .append_pair("text_decorations", "false");
    Ok(request)
}

/// Removes the markup that Brave puts around words of the query, and replaces entities.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace("<strong>", "").replace("</strong>", "");
    [("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
        .iter()
        .fold(text, |text, (entity, character)| text.replace(entity, character))
}
