//! Tavily: <https://docs.tavily.com/documentation/api-reference/endpoint/search>.

use super::query::{Search, set_path};
use crate::request::Request;
use reqwest::{
    Method,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, InvalidHeaderValue},
};
use serde_json::json;

pub(super) fn request(
    mut request: Request,
    search: &Search,
    key: &str,
) -> Result<Request, InvalidHeaderValue> {
    let mut key = HeaderValue::from_str(&format!("Bearer {key}"))?;
    key.set_sensitive(true);
    request.method = Method::POST;
    request.headers.insert(AUTHORIZATION, key);
    request.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    set_path(&mut request.url, "search");
    let body = json!({
        "query": search.query,
        "max_results": search.limit,
        "include_domains": search.allowed_domains.names(),
        "exclude_domains": search.blocked_domains.names(),
    });
    request.body = Some(body.to_string().into_bytes());
    Ok(request)
}
