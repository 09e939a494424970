//! Building a request from a function and its arguments.

use crate::{
    account::{Account, BASE_URL, LOCAL},
    auth::Scheme,
    client::Network,
    guard::{self, RefusedAddress},
    integration::{BodyEncoding, Function, Integration, Place, Style},
    upload::{self, Upload},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    Method, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Map, Value, json};

/// A request to a service.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
    /// The body for display, if its bytes are unsuitable.
    pub(crate) shown: Option<Value>,
}

/// The reason why a request cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    /// There is no base URL.
    #[error("the base URL is missing; set the account's `base_url`")]
    NoAddress,
    /// Its URL may not be connected to.
    #[error(transparent)]
    Refused(#[from] RefusedAddress),
    /// A value cannot be a path segment.
    #[error("Parameter '{0}' cannot be empty, `.` or `..`: it is a part of the address")]
    Path(String),
    /// A value cannot be a header.
    #[error("Parameter '{0}' contains characters that are not permitted in a header")]
    Header(String),
}

/// Returns the base URL for an account, and the network that may be connected to. The user's own
/// URL permits private networks by literally naming one.
pub(crate) fn base_url(integration: &Integration, account: &Account) -> Result<(Url, Network), RequestError> {
    let account_url = account.get(BASE_URL);
    let text = account_url.or(integration.address.base_url.as_deref()).ok_or(RequestError::NoAddress)?;
    let url = guard::checked_base(text)?;
    let declared_local = integration.address.local || account.get(LOCAL) == Some("true");
    let local = declared_local || account_url.is_some_and(guard::is_literally_local);
    let network = if local { Network::Private } else { Network::Public };
    guard::check(&url, network)?;
    Ok((url, network))
}

/// Builds the request, without credentials.
pub(crate) fn build(
    integration: &Integration,
    function: &Function,
    account: &Account,
    arguments: &Map<String, Value>,
    uploads: &[Upload],
) -> Result<Request, RequestError> {
    let (base, _) = base_url(integration, account)?;
    let value = |key: &str| -> Option<Value> {
        let given = arguments.get(key).filter(|value| !value.is_null()).cloned();
        let filled = || account.get(key).filter(|_| integration.can_fill(key)).map(|text| json!(text));
        given.or_else(filled)
    };
    let path = path(function, &value)?;
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    for (name, value) in &function.endpoint.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        {
            headers.insert(name, value);
        }
    }
    let mut members = Map::new();
    let mut whole = None;
    for parameter in &function.parameters {
        let Some(value) = value(&parameter.key) else { continue };
        match parameter.place {
            Place::Path | Place::File => {}
            Place::Query(style) => query(&mut url, &parameter.name, style, &value),
            Place::Header => {
                let bad = || RequestError::Header(parameter.key.clone());
                let name = HeaderName::from_bytes(parameter.name.as_bytes()).map_err(|_| bad())?;
                headers.insert(name, HeaderValue::from_str(&plain(&value)).map_err(|_| bad())?);
            }
            Place::Member => {
                members.insert(parameter.name.clone(), value);
            }
            Place::Body => whole = Some(value),
        }
    }
    let method = Method::from_bytes(function.endpoint.method.as_bytes()).unwrap_or(Method::GET);
    if function.endpoint.body_encoding == BodyEncoding::Parts {
        let (kind, body) = upload::body(&members, uploads);
        headers.insert(CONTENT_TYPE, HeaderValue::from_str(&kind).expect("a boundary is letters and digits"));
        let shown = Some(upload::shown(&members, uploads));
        return Ok(Request { method, url, headers, body: Some(body), shown });
    }
    let has_body = function.parameters.iter().any(|p| matches!(p.place, Place::Member | Place::Body));
    let body = match whole {
        Some(value) => Some(value),
        None if !members.is_empty() || (has_body && function.endpoint.method != "DELETE") => {
            Some(Value::Object(members))
        }
        None => None,
    };
    let body = body.map(|body| {
        let is_form = function.endpoint.body_encoding == BodyEncoding::Form;
        let kind = if is_form { "application/x-www-form-urlencoded" } else { "application/json" };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        if is_form { form(&body) } else { body.to_string() }.into_bytes()
    });
    Ok(Request { method, url, headers, body, shown: None })
}

impl Request {
    /// Adds the credentials. The error names the account's field that cannot be sent.
    pub(crate) fn authorise(
        &mut self,
        schemes: &[&Scheme],
        account: &Account,
        token: Option<&str>,
        network: Network,
    ) -> Result<(), RequestError> {
        if !schemes.is_empty() && self.url.scheme() == "http" && network == Network::Public {
            let host = self.url.host_str().unwrap_or_default().to_owned();
            return Err(RefusedAddress::Unencrypted(host).into());
        }
        for scheme in schemes {
            let field = |name: &str| account.get(name).unwrap_or_default().to_owned();
            let (header, value, of) = match scheme {
                Scheme::KeyInHeader { field: name, header, before } => {
                    let header = HeaderName::from_bytes(header.as_bytes());
                    let header = header.map_err(|_| RequestError::Header(name.clone()))?;
                    (header, format!("{before}{}", field(name)), name)
                }
                Scheme::KeyInQuery { field: name, parameter } => {
                    self.url.query_pairs_mut().append_pair(parameter, &field(name));
                    continue;
                }
                Scheme::KeyInCookie { field: name, cookie } => {
                    (COOKIE, format!("{cookie}={}", encoded(&field(name), false)), name)
                }
                Scheme::Basic { username, password } => {
                    (AUTHORIZATION, basic(&field(username), &field(password)), password)
                }
                Scheme::ClientCredentials { secret, .. } => {
                    (AUTHORIZATION, format!("Bearer {}", token.unwrap_or_default()), secret)
                }
                Scheme::Unsupported(_) => continue,
            };
            let mut value = HeaderValue::from_str(&value).map_err(|_| RequestError::Header(of.clone()))?;
            value.set_sensitive(true);
            self.headers.insert(header, value);
        }
        Ok(())
    }

    /// Returns the secrets of an account in their encoded forms, for redaction.
    pub(crate) fn sent_credentials(schemes: &[&Scheme], account: &Account) -> Vec<String> {
        let field = |name: &str| account.get(name).unwrap_or_default();
        let other = schemes.iter().filter_map(|scheme| match scheme {
            Scheme::KeyInQuery { field: name, .. } => Some(form(&json!({ "k": field(name) })).split_off(2)),
            Scheme::KeyInCookie { field: name, .. } => Some(encoded(field(name), false)),
            Scheme::Basic { username, password } => {
                Some(basic(field(username), field(password)).split_off("Basic ".len()))
            }
            _ => None,
        });
        other.collect()
    }

    /// Returns the request for display, without credentials.
    pub(crate) fn shown(&self, schemes: &[&Scheme]) -> Value {
        let headers = self.headers.iter().filter(|(_, value)| !value.is_sensitive());
        let headers: Map<String, Value> = headers
            .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap_or_default())))
            .collect();
        let text = |body: &Vec<u8>| {
            serde_json::from_slice(body).unwrap_or_else(|_| json!(String::from_utf8_lossy(body)))
        };
        let body = self.shown.clone().or_else(|| self.body.as_ref().map(text));
        let auth: Vec<_> = schemes.iter().map(|scheme| scheme.id()).collect();
        json!({ "method": self.method.as_str(), "url": self.url.as_str(), "headers": headers, "body": body, "auth": auth })
    }
}

/// Returns the value of a `Basic` authorization header.
pub(crate) fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
}

fn path(function: &Function, value: &dyn Fn(&str) -> Option<Value>) -> Result<String, RequestError> {
    let mut path = String::new();
    let mut rest = function.endpoint.path.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else { break };
        path.push_str(before);
        let (name, slashes) = match name.strip_prefix('+') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let parameter = function.parameters.iter().find(|p| p.place == Place::Path && p.name == name);
        let key = parameter.map_or(name, |parameter| parameter.key.as_str());
        let text = value(key).map(|value| plain(&value)).unwrap_or_default();
        let bad = |part: &str| part.is_empty() || part == "." || part == "..";
        let wrong = if slashes { text.trim_matches('/').split('/').any(bad) } else { bad(&text) };
        if wrong {
            return Err(RequestError::Path(key.to_owned()));
        }
        path.push_str(&encoded(if slashes { text.trim_matches('/') } else { &text }, slashes));
        rest = after;
    }
    path.push_str(rest);
    Ok(path)
}

fn query(url: &mut Url, name: &str, style: Style, value: &Value) {
    let mut pairs = url.query_pairs_mut();
    match (value, style) {
        (_, Style::Json) => {
            pairs.append_pair(name, &value.to_string());
        }
        (Value::Array(items), Style::Joined(separator)) => {
            let items: Vec<_> = items.iter().map(plain).collect();
            pairs.append_pair(name, &items.join(&separator.to_string()));
        }
        (Value::Array(items), Style::Bracketed) => {
            let name = format!("{name}[]");
            items.iter().for_each(|item| {
                pairs.append_pair(&name, &plain(item));
            });
        }
        (Value::Array(items), _) => items.iter().for_each(|item| {
            pairs.append_pair(name, &plain(item));
        }),
        (Value::Object(members), Style::Deep | Style::Bracketed) => {
            for (member, value) in members {
                pairs.append_pair(&format!("{name}[{member}]"), &plain(value));
            }
        }
        (Value::Object(members), Style::Repeated) => {
            for (member, value) in members {
                pairs.append_pair(member, &plain(value));
            }
        }
        (value, _) => {
            pairs.append_pair(name, &plain(value));
        }
    }
}

/// Encodes a form. Lists are repeated; members of objects are put in brackets.
pub(crate) fn form(body: &Value) -> String {
    let mut url = Url::parse("http://form/").expect("it is an address");
    for (name, value) in body.as_object().into_iter().flatten() {
        query(&mut url, name, if value.is_object() { Style::Deep } else { Style::Repeated }, value);
    }
    url.query().unwrap_or_default().to_owned()
}

/// Converts a value to text: strings verbatim, lists separated by commas.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// All but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same without `/`.
const RESERVED_BUT_SLASH: &AsciiSet = &RESERVED.remove(b'/');

/// Percent-encodes a path segment. `slashes` keeps `/`.
fn encoded(text: &str, slashes: bool) -> String {
    utf8_percent_encode(text, if slashes { RESERVED_BUT_SLASH } else { RESERVED }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in;

    fn integration(name: &str) -> Integration {
        built_in().into_iter().find(|integration| integration.name == name).unwrap()
    }

    fn account(fields: &[(&str, &str)]) -> Account {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn built(function: &str, account: &Account, arguments: Value) -> Result<Request, RequestError> {
        let (name, _) = function.split_once('.').unwrap();
        let integration = integration(name);
        let function = integration.function(function).unwrap().clone();
        build(&integration, &function, account, arguments.as_object().unwrap(), &[])
    }

    #[test]
    fn arguments_go_to_their_place_in_the_request() {
        let plane = account(&[("workspace_slug", "acme")]);
        let none = Account::default();
        for (function, account, arguments, method, url, body) in [
            (
                "plane.list_issues",
                &plane,
                json!({ "project_id": "p 1/2", "per_page": 5, "cursor": null }),
                "GET",
                "https://api.plane.so/api/v1/workspaces/acme/projects/p%201%2F2/work-items/?per_page=5",
                None,
            ),
            (
                "plane.create_issue",
                &plane,
                json!({ "workspace_slug": "other", "project_id": "p", "name": "n", "labels": ["a"] }),
                "POST",
                "https://api.plane.so/api/v1/workspaces/other/projects/p/work-items/",
                Some(json!({ "name": "n", "labels": ["a"] })),
            ),
            (
                "github.get_content",
                &none,
                json!({ "owner": "o", "repo": "r", "path": "/src/a b.rs", "ref": "main" }),
                "GET",
                "https://api.github.com/repos/o/r/contents/src/a%20b.rs?ref=main",
                None,
            ),
            (
                "coingecko.price",
                &none,
                json!({ "ids": ["bitcoin", "ethereum"], "vs_currencies": ["usd"] }),
                "GET",
                "https://api.coingecko.com/api/v3/simple/price?ids=bitcoin%2Cethereum&vs_currencies=usd",
                None,
            ),
        ] {
            let request = built(function, account, arguments).unwrap();
            assert_eq!((request.method.as_str(), request.url.as_str()), (method, url));
            assert_eq!(request.body.map(|body| serde_json::from_slice::<Value>(&body).unwrap()), body);
        }
    }

    #[test]
    fn a_value_cannot_leave_its_path_segment() {
        let plane = account(&[("workspace_slug", "acme")]);
        for bad in ["..", ".", ""] {
            let error = built("plane.list_issues", &plane, json!({ "project_id": bad })).unwrap_err();
            assert_eq!(error, RequestError::Path("project_id".to_owned()));
        }
        let none = Account::default();
        for bad in ["../../user", "a/../b", "a//b"] {
            let arguments = json!({ "owner": "o", "repo": "r", "path": bad });
            assert_eq!(
                built("github.get_content", &none, arguments).unwrap_err(),
                RequestError::Path("path".to_owned())
            );
        }
        let arguments = json!({ "project_id": "x?y#z@127.0.0.1/../.." });
        let url = built("plane.list_issues", &plane, arguments).unwrap().url;
        assert_eq!(url.host_str(), Some("api.plane.so"));
        assert!(url.path().ends_with("/projects/x%3Fy%23z%40127.0.0.1%2F..%2F../work-items/"), "{url}");
    }

    #[test]
    fn credentials_follow_the_scheme_and_are_never_shown() {
        let fields = [("k", "canary-key"), ("u", "me"), ("p", "canary-pass"), ("s", "canary-secret")];
        let account = account(&fields);
        let field = |name: &str| name.to_owned();
        let schemes = [
            Scheme::KeyInHeader { field: field("k"), header: "X-API-Key".to_owned(), before: String::new() },
            Scheme::KeyInHeader {
                field: field("k"),
                header: "Authorization".to_owned(),
                before: "Bearer ".to_owned(),
            },
            Scheme::Basic { username: field("u"), password: field("p") },
            Scheme::KeyInCookie { field: field("k"), cookie: "sid".to_owned() },
        ];
        let expected = [
            ("x-api-key", "canary-key"),
            ("authorization", "Bearer canary-key"),
            ("authorization", "Basic bWU6Y2FuYXJ5LXBhc3M="),
            ("cookie", "sid=canary-key"),
        ];
        for (scheme, (header, value)) in schemes.iter().zip(expected) {
            let mut request = built("coingecko.ping", &Account::default(), json!({})).unwrap();
            request.authorise(&[scheme], &account, None, Network::Public).unwrap();
            assert_eq!(request.headers[header], value);
            let shown = request.shown(&[scheme]).to_string();
            assert!(!shown.contains("canary") && !format!("{request:?}").contains("canary"), "{shown}");
        }
        let mut request = built("coingecko.ping", &Account::default(), json!({})).unwrap();
        request.url.set_scheme("http").unwrap();
        let refused = request.authorise(&[&schemes[0]], &account, None, Network::Public).unwrap_err();
        assert!(refused.to_string().contains("without encryption"), "{refused}");
        request.authorise(&[&schemes[0]], &account, None, Network::Private).unwrap();
        let mut header = built("coingecko.ping", &Account::default(), json!({})).unwrap();
        let torn: Account = [("k".to_owned(), "a\nb".to_owned())].into_iter().collect();
        assert!(header.authorise(&[&schemes[0]], &torn, None, Network::Public).is_err());
    }

    #[test]
    fn a_private_network_is_permitted_where_the_user_declared_it() {
        let github = integration("github");
        for (fields, network) in [
            (&[][..], Some(Network::Public)),
            (&[("base_url", "https://git.corp.example/api/v3")], Some(Network::Public)),
            (&[("base_url", "https://git.corp.example/api/v3"), ("local", "true")], Some(Network::Private)),
            (&[("base_url", "http://192.168.1.5:3000")], Some(Network::Private)),
            (&[("base_url", "http://169.254.169.254"), ("local", "true")], None),
            (&[("base_url", "file:///etc"), ("local", "true")], None),
        ] {
            let found = base_url(&github, &account(fields)).map(|(_, network)| network);
            assert_eq!(found.ok(), network, "{fields:?}");
        }
    }

    #[test]
    fn basic_is_base64() {
        for (name, password, text) in
            [("a", "b", "YTpi"), ("a", "bc", "YTpiYw=="), ("", "", "Og=="), ("ab", "c", "YWI6Yw==")]
        {
            assert_eq!(basic(name, password), format!("Basic {text}"));
        }
    }
}
