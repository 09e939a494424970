//! Requests to authorization servers: bounded in size and time, and only to URLs that may receive a
//! token. `McpOptions::http` never follows redirects.

use super::error::OAuthError;
use crate::{
    limits::{OAUTH_BYTES, OAUTH_REQUEST},
    options::McpOptions,
};
use reqwest::{RequestBuilder, Url, header::ACCEPT};
use serde_json::Value;

/// The message for a response that cannot be interpreted.
pub(super) const INVALID_RESPONSE: &str = "its response is invalid";

/// Parses a URL that tokens and codes may be sent to: HTTPS, or this machine. `local_server` is
/// whether the server itself is on this machine; a remote server must not make us talk to local
/// services.
pub(super) fn endpoint(text: &str, local_server: bool) -> Result<Url, String> {
    let shown = || agent::one_line(text.split('?').next().unwrap_or_default());
    let url = Url::parse(text).map_err(|_| format!("{} is not a valid URL", shown()))?;
    let local = is_local(&url);
    match url.scheme() {
        _ if !url.username().is_empty() || url.password().is_some() => {
            Err(format!("{} contains a user name or a password, which is not permitted", shown()))
        }
        _ if local && !local_server => Err(format!("{} is on this machine, and the server is not", shown())),
        "https" => Ok(url),
        "http" if local => Ok(url),
        _ => Err(format!("{} is not encrypted, so no credentials are sent there", shown())),
    }
}

/// Returns whether a URL refers to this machine.
pub(super) fn is_local(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// Returns the status and the JSON of a response; the JSON is `null` if there is none.
pub(super) async fn json(
    options: &McpOptions,
    url: &Url,
    request: impl FnOnce(reqwest::Client) -> RequestBuilder,
) -> Result<(u16, Value), String> {
    let host = url.host_str().unwrap_or_default();
    let failed = |error: reqwest::Error| format!("the request to {host} failed: {}", error.without_url());
    let client = (options.http)(url.as_str())?;
    let register_call = async {
        let mut response = request(client).header(ACCEPT, "application/json").send().await.map_err(failed)?;
        let status = response.status().as_u16();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if body.len() + chunk.len() > OAUTH_BYTES {
                return Err(format!("{host} answered with more than {OAUTH_BYTES} bytes"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((status, serde_json::from_slice(&body).unwrap_or_default()))
    };
    let late = |_| format!("{host} did not answer within {} s", OAUTH_REQUEST.as_secs());
    tokio::time::timeout(OAUTH_REQUEST, register_call).await.map_err(late)?
}

/// Encodes fields as `application/x-www-form-urlencoded`.
pub(super) fn form(fields: &[(&str, &str)]) -> Result<String, String> {
    let mut url = Url::parse("http://localhost/").map_err(|error| error.to_string())?;
    url.query_pairs_mut().extend_pairs(fields);
    Ok(url.query().unwrap_or_default().to_owned())
}

/// Posts a form and returns the JSON of a successful response. The error quotes the server's
/// `error` and `error_description` only, because other fields may be secret.
pub(super) async fn post_form(
    options: &McpOptions,
    url: &Url,
    fields: &[(&str, &str)],
) -> Result<Value, OAuthError> {
    let body = form(fields)?;
    let send = |client: reqwest::Client| {
        let request = client.post(url.clone());
        request.header(reqwest::header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
    };
    let (status, response) = json(options, url, send).await?;
    if (200..300).contains(&status) {
        return Ok(response);
    }
    Err(refusal(url, status, &response))
}

/// Returns the error for a refused request.
pub(super) fn refusal(url: &Url, status: u16, response: &Value) -> OAuthError {
    let host = url.host_str().unwrap_or_default();
    let error = response["error"].as_str().unwrap_or("no reason given");
    let about = response["error_description"].as_str().map(|text| format!(", {text}")).unwrap_or_default();
    let message = agent::one_line(&format!("{host} refused ({status}): {error}{about}"));
    OAuthError::Refused { status, message: message.chars().take(300).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_sent_to_https_or_to_this_machine_only() {
        for (text, local_server, fine) in [
            ("https://auth.example/token", false, true),
            ("https://auth.example/token", true, true),
            ("http://auth.example/token", false, false),
            ("http://127.0.0.1:1/token", true, true),
            ("http://localhost:1/token", true, true),
            ("http://127.0.0.1:1/token", false, false),
            ("https://localhost/token", false, false),
            ("http://127.0.0.1.evil.example/token", true, false),
            ("http://localhost@evil.example/", true, false),
            ("https://user:pass@auth.example/", false, false),
            ("file:///etc/passwd", true, false),
            ("javascript:alert(1)", true, false),
            ("", true, false),
        ] {
            assert_eq!(endpoint(text, local_server).is_ok(), fine, "{text} {local_server}");
        }
        assert_eq!(form(&[("a b", "c&d")]).unwrap(), "a+b=c%26d");
    }
}
