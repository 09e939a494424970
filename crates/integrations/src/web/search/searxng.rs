//! A SearXNG server: <https://docs.searxng.org/dev/search_api.html>.

use super::query::{Search, set_path};
use crate::request::Request;

pub(super) fn request(mut request: Request, search: &Search) -> Request {
    set_path(&mut request.url, "search");
    request.url.query_pairs_mut().append_pair("q", &search.with_operators()).append_pair("format", "json");
    request
}
