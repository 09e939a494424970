//! What every request must satisfy before its path and its credential are examined: no secret in
//! the URL, a known host (against DNS rebinding), a known origin (against foreign web pages).

use super::Problem;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use system::{is_secret_name, secrets_in};

/// The names under which clients send secrets in a query, beside those of [`is_secret_name`].
const SECRET_NAMES: [&str; 5] = ["auth", "authorization", "bearer", "jwt", "ticket"];
/// Paths that probes use, which do not know the host's name.
const PROBES: [&str; 2] = ["/health", "/ready"];
/// The headers that a page of a listed origin may send.
const ALLOWED_HEADERS: &str = "authorization, content-type, acp-connection-id, acp-session-id, \
                               acp-protocol-version, acp-message-id, last-event-id";

/// Which hosts and origins a listener accepts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// The values of `Host` that are accepted, in lower case; `None` accepts every one.
    pub hosts: Option<Vec<String>>,
    /// The origins of web pages that may use the server.
    pub origins: Vec<String>,
}

/// Checks a request.
pub(crate) fn check(names: &Names, parts: &Parts) -> Result<(), Problem> {
    if parts.uri.query().is_some_and(has_secret) {
        return Err(Problem::bad_request(
            "the URL has a parameter for a secret, such as `token` or `key`, or a value that looks like one. URLs are logged: \
             send the token in the header \"Authorization: Bearer …\"",
        ));
    }
    check_host(names, parts)?;
    let origin = match origin(&parts.headers) {
        Ok(None) => return check_site(&parts.headers),
        Ok(Some(origin)) => origin,
        Err(()) => return Err(foreign_origin()),
    };
    match names.origins.iter().any(|listed| listed == origin) {
        true => Ok(()),
        false => Err(foreign_origin()),
    }
}

/// Whether it is a request of a probe.
pub(crate) fn is_probe(parts: &Parts) -> bool {
    PROBES.contains(&parts.uri.path())
}

fn foreign_origin() -> Problem {
    Problem::forbidden("web pages of this origin may not use the server; list the origin in serve.origins")
}

fn check_host(names: &Names, parts: &Parts) -> Result<(), Problem> {
    let Some(hosts) = names.hosts.as_ref().filter(|_| !is_probe(parts)) else {
        return Ok(());
    };
    let of_uri = parts.uri.authority().map(|authority| authority.as_str().to_ascii_lowercase());
    let mut given = parts.headers.get_all(header::HOST).iter();
    let of_header = match (given.next(), given.next()) {
        (None, _) => None,
        (Some(host), None) => host.to_str().ok().map(str::to_ascii_lowercase),
        (Some(_), Some(_)) => return Err(Problem::bad_request("the request has several Host headers")),
    };
    let known = |host: &Option<String>| host.as_ref().is_some_and(|host| hosts.contains(host));
    let agree = of_uri.is_none() || of_header.is_none() || of_uri == of_header;
    if agree && (known(&of_uri) || known(&of_header)) {
        return Ok(());
    }
    Err(Problem::forbidden("this host name is not one of the server's; list it in serve.hosts"))
}

/// A page of another site whose request carries no origin is refused.
fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let cross = headers.get_all("sec-fetch-site").iter().any(|site| site == "cross-site");
    match cross {
        false => Ok(()),
        true => Err(foreign_origin()),
    }
}

/// Returns the request's origin; an error if it has several, or one that is not text.
pub(crate) fn origin(headers: &HeaderMap) -> Result<Option<&str>, ()> {
    let mut given = headers.get_all(header::ORIGIN).iter();
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some(origin), None) => origin.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// Whether a parameter of the query has the name of a secret, or a value that looks like one.
fn has_secret(query: &str) -> bool {
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    query.split(['&', ';']).any(|parameter| {
        let name = decoded(parameter.split('=').next().unwrap_or_default());
        let known = SECRET_NAMES.iter().any(|secret| name.trim().eq_ignore_ascii_case(secret));
        known || is_secret_name(&name) || !secrets_in(&decoded(parameter)).is_empty()
    })
}

/// Adds the headers with which a browser lets a page of a listed origin read the response. There
/// are none at all unless origins are listed.
pub(crate) fn allow_origin(names: &Names, origin: Option<&str>, response: &mut HeaderMap) {
    if names.origins.is_empty() {
        return;
    }
    response.append(header::VARY, HeaderValue::from_static("Origin"));
    let listed = origin.filter(|origin| names.origins.iter().any(|listed| listed == origin));
    if let Some(value) = listed.and_then(|origin| HeaderValue::from_str(origin).ok()) {
        response.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, value);
        let exposed = HeaderValue::from_static("acp-connection-id, acp-session-id");
        response.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

/// Answers the question of a browser whether a page may send a request; `None` if it is none.
pub(crate) fn preflight(names: &Names, parts: &Parts) -> Option<(StatusCode, HeaderMap)> {
    let asks = parts.method == Method::OPTIONS
        && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && !names.origins.is_empty();
    asks.then(|| {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        (StatusCode::NO_CONTENT, headers)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn names() -> Names {
        Names {
            hosts: Some(vec!["localhost:7000".to_owned(), "127.0.0.1:7000".to_owned()]),
            origins: vec!["https://app.example".to_owned()],
        }
    }

    fn status(names: &Names, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        check(names, &parts).map_or_else(|problem| problem.status.as_u16(), |()| 200)
    }

    #[test]
    fn secrets_in_the_url_are_refused_and_never_repeated() {
        let parts = |uri: &str| Request::builder().uri(uri).body(()).unwrap().into_parts().0;
        let value = format!("/acp?q=tlr_{}&geheim", "aB3".repeat(15).get(..43).unwrap());
        for uri in [
            "/acp?token=geheim",
            "/acp?a=1&Access_Token=geheim",
            "/acp?%6bey=geheim",
            "/acp?a;secret=geheim",
            "/acp?api_key=geheim",
            "/acp?apiKey=geheim",
            "/acp?x-auth-token=geheim",
            "/acp?password=geheim",
            "/acp?AUTH=geheim",
            "/acp?ticket=geheim",
            &value,
            &value.replace("tlr_", "%74lr%5F"),
        ] {
            let problem = check(&Names::default(), &parts(uri)).unwrap_err();
            assert_eq!(problem.status, 400, "{uri}");
            assert!(!problem.detail.contains("geheim"), "{problem:?}");
        }
        assert_eq!(check(&Names::default(), &parts("/acp?page=1&q=token&author=ada")), Ok(()));
    }

    #[test]
    fn only_known_hosts_are_served_and_probes_need_none() {
        for (uri, host, expected) in [
            ("/acp", "localhost:7000", 200),
            ("/acp", "LOCALHOST:7000", 200),
            ("/acp", "127.0.0.1:7000", 200),
            ("/acp", "localhost", 403),
            ("/acp", "localhost:7001", 403),
            ("/acp", "evil.example", 403),
            ("/acp", "localhost:7000.evil.example", 403),
            ("/health", "evil.example", 200),
            ("/ready", "10.0.0.7", 200),
            ("/healthz", "evil.example", 403),
            ("http://evil.example/acp", "localhost:7000", 403),
            ("http://localhost:7000/acp", "evil.example", 403),
            ("http://localhost:7000/acp", "localhost:7000", 200),
        ] {
            assert_eq!(status(&names(), uri, &[("host", host)]), expected, "{uri} {host}");
        }
        assert_eq!(status(&names(), "/acp", &[]), 403);
        assert_eq!(status(&names(), "/acp", &[("host", "localhost:7000"), ("host", "evil.example")]), 400);
        assert_eq!(status(&Names::default(), "/acp", &[("host", "anything")]), 200);
    }

    #[test]
    fn only_listed_origins_are_served_on_every_method() {
        for (origin, expected) in [
            ("https://app.example", 200),
            ("https://app.example:443", 403),
            ("http://app.example", 403),
            ("https://app.example.evil", 403),
            ("null", 403),
            ("", 403),
        ] {
            let headers = [("host", "localhost:7000"), ("origin", origin)];
            assert_eq!(status(&names(), "/acp", &headers), expected, "{origin:?}");
        }
        let cross = [("host", "localhost:7000"), ("sec-fetch-site", "cross-site")];
        assert_eq!(status(&names(), "/acp", &cross), 403);
        let listed = [cross[0], cross[1], ("origin", "https://app.example")];
        assert_eq!(status(&names(), "/acp", &listed), 200);
        assert_eq!(status(&names(), "/acp", &[cross[0], ("sec-fetch-site", "none")]), 200);
    }

    #[test]
    fn a_response_names_the_origin_only_if_it_is_listed() {
        let allowed = |names: &Names, origin| {
            let mut headers = HeaderMap::new();
            allow_origin(names, Some(origin), &mut headers);
            (headers.get(header::ACCESS_CONTROL_ALLOW_ORIGIN).cloned(), headers.contains_key(header::VARY))
        };
        let listed = HeaderValue::from_static("https://app.example");
        assert_eq!(allowed(&names(), "https://app.example"), (Some(listed), true));
        assert_eq!(allowed(&names(), "https://evil.example"), (None, true));
        assert_eq!(allowed(&Names::default(), "https://app.example"), (None, false));
    }
}
