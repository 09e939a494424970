//! Pagination of long responses.

use crate::{
    integration::Pages,
    request::Request,
    retry::{ServiceResponse, same_origin},
};
use reqwest::Url;
use serde_json::Value;

/// Returns the items of a response.
pub(crate) fn items<'a>(pages: &Pages, data: &'a Value) -> Option<&'a Vec<Value>> {
    let (Pages::Next { items, .. } | Pages::Number { items, .. } | Pages::Cursor { items, .. }) = pages;
    data.pointer(items)?.as_array()
}

/// Returns the request for the next page; `None` if this was the last. `request` is the one for the
/// page of `response`, and `number` counts the pages so far.
pub(crate) fn next(
    pages: &Pages,
    request: &Request,
    response: &ServiceResponse,
    number: usize,
) -> Option<Request> {
    let mut next = request.clone();
    match pages {
        Pages::Next { at, .. } => next.url = next_url(at.as_deref(), &request.url, response)?,
        Pages::Number { parameter, first, .. } => {
            items(pages, &response.data).filter(|items| !items.is_empty())?;
            let page = match query_value(&request.url, parameter).and_then(|text| text.parse::<u64>().ok()) {
                Some(page) => page + 1,
                None => first + u64::try_from(number).ok()?,
            };
            set_query(&mut next.url, parameter, &page.to_string());
        }
        Pages::Cursor { parameter, at, more, .. } => {
            let cursor = next_cursor(at, more.as_deref(), &response.data)?;
            if query_value(&request.url, parameter).as_deref() == Some(&cursor) {
                return None;
            }
            set_query(&mut next.url, parameter, &cursor);
        }
    }
    (next.url != request.url).then_some(next)
}

/// Returns the URL of the next page, if it has the same origin: at a location of the response, or
/// in its `Link` header.
fn next_url(at: Option<&str>, url: &Url, response: &ServiceResponse) -> Option<Url> {
    let text = match at {
        None => next_link(response.link.as_deref()?)?,
        Some(at) => response.data.pointer(at)?.as_str()?.to_owned(),
    };
    url.join(&text).ok().filter(|next| same_origin(next, url))
}

/// Returns the cursor at a location of the response, unless `more` is the location of `false`.
fn next_cursor(at: &str, more: Option<&str>, data: &Value) -> Option<String> {
    if more.and_then(|more| data.pointer(more)) == Some(&Value::Bool(false)) {
        return None;
    }
    match data.pointer(at)? {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the next page's URL in a `Link` header (RFC 8288): `<https://…>; rel="next", …`.
fn next_link(header: &str) -> Option<String> {
    header.split(',').find_map(|part| {
        let (url, attributes) = part.trim().strip_prefix('<')?.split_once('>')?;
        let next = attributes.split(';').map(str::trim).any(|one| matches!(one, "rel=\"next\"" | "rel=next"));
        next.then(|| url.to_owned())
    })
}

fn query_value(url: &Url, parameter: &str) -> Option<String> {
    url.query_pairs().find(|(name, _)| name == parameter).map(|(_, value)| value.into_owned())
}

fn set_query(url: &mut Url, parameter: &str, value: &str) {
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(name, _)| name != parameter)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    url.query_pairs_mut().clear().extend_pairs(others).append_pair(parameter, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::{Method, header::HeaderMap};
    use serde_json::json;

    fn next_page(pages: &Pages, url: &str, data: Value, link: Option<&str>, number: usize) -> Option<String> {
        let url = Url::parse(url).unwrap();
        let request =
            Request { method: Method::GET, url, headers: HeaderMap::new(), body: None, shown: None };
        let response = ServiceResponse { data, link: link.map(str::to_owned) };
        next(pages, &request, &response, number).map(|request| request.url.to_string())
    }

    #[test]
    fn the_next_page_is_on_the_same_host_and_another_one() {
        let items = || "/r".to_owned();
        let link = Pages::Next { at: None, items: String::new() };
        let field = Pages::Next { at: Some("/next".to_owned()), items: items() };
        let number = Pages::Number { parameter: "page".to_owned(), first: 0, items: items() };
        let more = Some("/more".to_owned());
        let cursor = Pages::Cursor { parameter: "c".to_owned(), at: "/n".to_owned(), more, items: items() };
        let (full, empty) = (json!({ "r": [1] }), json!({ "r": [] }));
        let header = r#"<https://a.b/x?page=1>; rel="prev", <https://a.b/x?page=3>; rel="next""#;
        for (pages, url, data, link, number, expected) in [
            (&link, "https://a.b/x?page=2", json!([]), Some(header), 1, Some("https://a.b/x?page=3")),
            (&link, "https://a.b/x?page=3", json!([]), Some(header), 1, None),
            (&link, "https://a.b/x", json!([]), Some(r#"<https://evil/>; rel="next""#), 1, None),
            (&link, "https://a.b/x", json!([]), None, 1, None),
            (&field, "https://a.b/x", json!({ "next": "/y?p=2" }), None, 1, Some("https://a.b/y?p=2")),
            (&field, "https://a.b/x", json!({ "next": "http://a.b/y" }), None, 1, None),
            (&field, "https://a.b/x", json!({ "next": null }), None, 1, None),
            (&number, "https://a.b/x?q=1", full.clone(), None, 1, Some("https://a.b/x?q=1&page=1")),
            (&number, "https://a.b/x?page=7&q=1", full, None, 3, Some("https://a.b/x?q=1&page=8")),
            (&number, "https://a.b/x", empty, None, 1, None),
            (&cursor, "https://a.b/x", json!({ "n": "k", "more": true }), None, 1, Some("https://a.b/x?c=k")),
            (&cursor, "https://a.b/x", json!({ "n": "k", "more": false }), None, 1, None),
            (&cursor, "https://a.b/x?c=k", json!({ "n": "k" }), None, 1, None),
            (&cursor, "https://a.b/x", json!({ "n": "" }), None, 1, None),
        ] {
            assert_eq!(next_page(pages, url, data, link, number).as_deref(), expected, "{pages:?} {url}");
        }
    }
}
