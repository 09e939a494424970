//! Request addresses and their credentials.

use crate::Secret;
use agent::ModelError;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};

/// One API address with its headers.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    /// The full address of the resource.
    pub(crate) url: Url,
    /// The headers, including credentials (marked sensitive, so that `Debug` does not print them).
    pub(crate) headers: HeaderMap,
}

impl Endpoint {
    /// Joins a base URL and a resource such as `chat/completions`. A base without a path gets
    /// `/v1`; a base that already ends with the resource is used unchanged; a query is kept.
    pub(crate) fn new(base: &str, resource: &str) -> Result<Self, ModelError> {
        let mut url = parse(base)?;
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with(&format!("/{resource}")) {
            let version = if path.is_empty() { "/v1" } else { "" };
            url.set_path(&format!("{path}{version}/{resource}"));
        }
        Ok(Self { url, headers: HeaderMap::new() })
    }

    /// Like [`Endpoint::new`], for APIs whose base URL by convention has no version: adds `/v1`
    /// unless it is present.
    pub(crate) fn versioned(base: &str, resource: &str) -> Result<Self, ModelError> {
        let mut url = parse(base)?;
        let path = url.path().trim_end_matches('/').to_owned();
        if !path.ends_with(&format!("/v1/{resource}")) {
            let version = if path.ends_with("/v1") { "" } else { "/v1" };
            url.set_path(&format!("{path}{version}/{resource}"));
        }
        Ok(Self { url, headers: HeaderMap::new() })
    }

    /// Like [`Endpoint::new`], but a base that ends with the resource `other` gets `resource` in
    /// its place.
    pub(crate) fn beside(base: &str, other: &str, resource: &str) -> Result<Self, ModelError> {
        match replaced(parse(base)?, &format!("/{other}"), &format!("/{resource}")) {
            Some(url) => Ok(Self { url, headers: HeaderMap::new() }),
            None => Self::new(base, resource),
        }
    }

    /// Like [`Endpoint::versioned`], but a base that ends with the resource `other` gets `resource`
    /// in its place.
    pub(crate) fn versioned_beside(base: &str, other: &str, resource: &str) -> Result<Self, ModelError> {
        match replaced(parse(base)?, &format!("/v1/{other}"), &format!("/v1/{resource}")) {
            Some(url) => Ok(Self { url, headers: HeaderMap::new() }),
            None => Self::versioned(base, resource),
        }
    }

    /// Joins a base URL and a resource, and adds a query. A base without a path gets the version.
    pub(crate) fn below(base: &str, version: &str, resource: &str, query: &str) -> Result<Self, ModelError> {
        let mut url = parse(base)?;
        let path = url.path().trim_end_matches('/').to_owned();
        let root = if path.is_empty() { format!("/{version}") } else { path };
        url.set_path(&format!("{root}/{resource}"));
        let query = url.query().map_or_else(|| query.to_owned(), |before| format!("{before}&{query}"));
        url.set_query(Some(&query));
        Ok(Self { url, headers: HeaderMap::new() })
    }

    /// Adds `Authorization: Bearer KEY`.
    pub(crate) fn bearer(self, key: Option<&Secret>) -> Result<Self, ModelError> {
        match key {
            Some(key) => self.secret("authorization", &format!("Bearer {}", key.expose())),
            None => Ok(self),
        }
    }

    /// Adds the key in a header of its own.
    pub(crate) fn key(self, name: &'static str, key: Option<&Secret>) -> Result<Self, ModelError> {
        match key {
            Some(key) => self.secret(name, key.expose()),
            None => Ok(self),
        }
    }

    /// Adds a header that contains a secret.
    fn secret(mut self, name: &'static str, value: &str) -> Result<Self, ModelError> {
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            ModelError::Auth("the API key contains invalid characters; check how it was copied".into())
        })?;
        value.set_sensitive(true);
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }

    /// Adds a plain header.
    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        self
    }

    /// Returns the address for display, see [`shown`].
    pub(crate) fn shown(&self) -> String {
        shown(&self.url)
    }
}

/// Returns an address for display: without user, password and query, which may contain keys.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    // Both fail only for URLs that cannot carry credentials.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.to_string()
}

/// Returns whether an address is on this machine, judged by the literal host.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Returns whether an address is on this machine or in its local network, judged by the literal
/// host. Such a server belongs to the user and may be slow.
pub(crate) fn is_near(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    let near = match host.parse() {
        Ok(std::net::IpAddr::V4(ip)) => ip.is_private() || ip.is_link_local() || ip.is_unspecified(),
        Ok(std::net::IpAddr::V6(ip)) => ip.is_unique_local() || ip.is_unicast_link_local(),
        Err(_) => !host.contains('.') || host.ends_with(".local") || host.ends_with(".internal"),
    };
    near || is_loopback(url)
}

/// Replaces the end of an address's path; `None` if the path does not end with `old`.
fn replaced(mut url: Url, old: &str, new: &str) -> Option<Url> {
    let root = url.path().trim_end_matches('/').strip_suffix(old)?.to_owned();
    url.set_path(&format!("{root}{new}"));
    Some(url)
}

fn parse(base: &str) -> Result<Url, ModelError> {
    let wrong = |why: String| {
        ModelError::NotConfigured(format!("the base URL {why}; write it as http://host:port or https://host"))
    };
    let url = Url::parse(base.trim()).map_err(|error| wrong(format!("is not a valid URL: {error}")))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(wrong(format!("has the scheme `{scheme}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_works_with_and_without_a_path() {
        for (base, expected) in [
            ("http://h:1", "http://h:1/v1/chat/completions"),
            ("http://h:1/", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("https://h/api/v1", "https://h/api/v1/chat/completions"),
            ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
            ("https://h/d/x?api-version=3", "https://h/d/x/chat/completions?api-version=3"),
        ] {
            assert_eq!(Endpoint::new(base, "chat/completions").unwrap().url.as_str(), expected, "{base}");
        }
        for (base, expected) in [
            ("https://h", "https://h/v1/messages"),
            ("https://h/", "https://h/v1/messages"),
            ("https://h/v1/", "https://h/v1/messages"),
            ("https://h/anthropic", "https://h/anthropic/v1/messages"),
            ("https://h/v1/messages", "https://h/v1/messages"),
        ] {
            assert_eq!(Endpoint::versioned(base, "messages").unwrap().url.as_str(), expected, "{base}");
        }
    }

    #[test]
    fn a_base_that_is_a_resource_gets_the_list_of_models_in_its_place() {
        for (base, expected) in [
            ("https://h/v1/chat/completions", "https://h/v1/models"),
            ("https://h/chat/completions/?key=k", "https://h/models?key=k"),
            ("https://h", "https://h/v1/models"),
            ("https://h/v1", "https://h/v1/models"),
        ] {
            let list = Endpoint::beside(base, "chat/completions", "models").unwrap();
            assert_eq!(list.url.as_str(), expected, "{base}");
        }
        for (base, expected) in [
            ("https://h/v1/messages", "https://h/v1/models"),
            ("https://h/anthropic", "https://h/anthropic/v1/models"),
        ] {
            let list = Endpoint::versioned_beside(base, "messages", "models").unwrap();
            assert_eq!(list.url.as_str(), expected, "{base}");
        }
    }

    #[test]
    fn invalid_addresses_are_reported_without_their_secrets() {
        for base in ["", "localhost:11434", "ftp://h", "http://", "h"] {
            assert!(
                matches!(Endpoint::new(base, "x"), Err(ModelError::NotConfigured(text)) if text.contains("base URL"))
            );
        }
        let endpoint = Endpoint::new("https://user:pass@h/v1?key=k", "x").unwrap();
        let endpoint = endpoint.bearer(Some(&Secret::new("sk-1\n"))).unwrap();
        assert_eq!(endpoint.shown(), "https://h/v1/x");
        assert_eq!(endpoint.headers["authorization"], "Bearer sk-1");
        assert!(!format!("{:?}", endpoint.headers).contains("sk-1"));
        assert!(Endpoint::new("http://h", "x").unwrap().bearer(Some(&Secret::new("a\nb"))).is_err());
    }

    #[test]
    fn local_addresses_are_recognised_by_the_literal_host() {
        for (url, expected) in [
            ("http://127.0.0.1:1", true),
            ("http://192.168.0.7:8000", true),
            ("http://[fd00::1]", true),
            ("http://gpu-box:8000", true),
            ("http://gpu.local", true),
            ("http://host.docker.internal:11434", true),
            ("http://203.0.113.7", false),
            ("https://api.example.org", false),
        ] {
            assert_eq!(is_near(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn loopback_is_recognised_by_the_literal_host() {
        for (url, expected) in [
            ("http://127.0.0.1:1", true),
            ("http://127.9.9.9", true),
            ("http://localhost:8", true),
            ("http://[::1]:8", true),
            ("http://10.0.0.1", false),
            ("http://0.0.0.0", false),
            ("http://localhost.example.org", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
