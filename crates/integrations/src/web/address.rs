//! The URLs that are fetched.

use crate::limits::URL_CHARS;
use reqwest::Url;

/// A URL to fetch: HTTP or HTTPS, with a host, without a user name, a password or a fragment, and
/// in the normal form of the URL standard. The permission policy and the HTTP client therefore read
/// the same host in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebUrl(Url);

/// The reason why a URL is not fetched. The text is for models and people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebUrlError {
    /// It is not a URL of the web.
    #[error("the URL must begin with http:// or https:// and name a host")]
    Invalid,
    /// It contains credentials.
    #[error("the URL contains a user name or a password, which web_fetch does not send; remove it")]
    Credentials,
    /// It is too long.
    #[error("the URL has more than {URL_CHARS} characters")]
    TooLong,
}

impl WebUrl {
    /// Parses a URL and removes its fragment.
    ///
    /// # Errors
    ///
    /// Fails if the URL must not be fetched.
    pub fn parse(text: &str) -> Result<Self, WebUrlError> {
        Self::new(Url::parse(text.trim()).map_err(|_| WebUrlError::Invalid)?)
    }

    /// Resolves the target of a redirect.
    pub(super) fn join(&self, target: &str) -> Result<Self, WebUrlError> {
        Self::new(self.0.join(target).map_err(|_| WebUrlError::Invalid)?)
    }

    fn new(mut url: Url) -> Result<Self, WebUrlError> {
        url.set_fragment(None);
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(WebUrlError::Invalid);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebUrlError::Credentials);
        }
        if url.as_str().len() > URL_CHARS {
            return Err(WebUrlError::TooLong);
        }
        Ok(Self(url))
    }

    /// Returns the URL as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the host: a name in ASCII and lower case, or an address.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }

    /// Returns whether a redirect to `next` stays at the same server: the same host and port, or
    /// the same host from HTTP to HTTPS, both on their usual ports.
    pub(super) fn stays(&self, next: &Self) -> bool {
        let (from, to) = (&self.0, &next.0);
        let usual = from.port().is_none() && to.port().is_none();
        let upgraded = usual && from.scheme() == "http" && to.scheme() == "https";
        self.host() == next.host() && (upgraded || crate::retry::same_origin(from, to))
    }
}

/// Returns whether a host is a domain itself or one of its subdomains.
pub(super) fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_urls_of_the_web_are_fetched() {
        for (given, expected) in [
            ("https://Docs.RS/a b?c=d#e", Ok("https://docs.rs/a%20b?c=d")),
            (" http://x.example ", Ok("http://x.example/")),
            ("http://0x7f.1/", Ok("http://127.0.0.1/")),
            ("https://münchen.example/", Ok("https://xn--mnchen-3ya.example/")),
            ("https://ok.example\\@evil.example/", Ok("https://ok.example/@evil.example/")),
            ("https://me@x.example/", Err(WebUrlError::Credentials)),
            ("https://:key@x.example/", Err(WebUrlError::Credentials)),
            ("ftp://x.example/", Err(WebUrlError::Invalid)),
            ("file:///etc/passwd", Err(WebUrlError::Invalid)),
            ("javascript:alert(1)", Err(WebUrlError::Invalid)),
            ("x.example", Err(WebUrlError::Invalid)),
            ("http://", Err(WebUrlError::Invalid)),
        ] {
            let parsed = WebUrl::parse(given);
            assert_eq!(parsed.as_ref().map(WebUrl::as_str).map_err(|error| *error), expected, "{given}");
        }
        let long = format!("https://x.example/{}", "a".repeat(URL_CHARS));
        assert_eq!(WebUrl::parse(&long), Err(WebUrlError::TooLong));
    }

    #[test]
    fn a_redirect_to_another_host_or_port_leaves_the_server() {
        for (from, to, stays) in [
            ("https://a.example/x", "/y", true),
            ("http://a.example/x", "https://a.example/x", true),
            ("https://a.example/x", "http://a.example/x", false),
            ("https://a.example/x", "https://www.a.example/x", false),
            ("https://a.example/x", "https://a.example:8443/x", false),
            ("http://a.example:8080/x", "https://a.example/x", false),
            ("http://a.example:8080/x", "http://a.example:8080/y", true),
            ("https://a.example/x", "//b.example/", false),
            ("https://a.example/x", "http://169.254.169.254/", false),
        ] {
            let from = WebUrl::parse(from).unwrap();
            assert_eq!(from.stays(&from.join(to).unwrap()), stays, "{from:?} {to}");
        }
        let from = WebUrl::parse("https://a.example/x").unwrap();
        assert_eq!(from.join("file:///etc/passwd"), Err(WebUrlError::Invalid));
        assert_eq!(from.join("https://u:p@a.example/"), Err(WebUrlError::Credentials));
    }
}
