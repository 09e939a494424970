//! A SearXNG server: <https://docs.searxng.org/dev/search_api.html>.

use super::Search;
use crate::request::Request;

pub(super) fn request(mut request: Request, search: &Search) -> Request {
    super::set_path(&mut request.url, "search");
    request.url.query_pairs_mut().append_pair("q", &search.with_operators()).append_pair("format", "json");
    request
}
