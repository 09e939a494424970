//! Sending requests with retries, and reading responses up to a limit.

use crate::{
    client::{Client, Network},
    guard,
    limits::{
        ANSWER_BYTES, BACK_OFF, DOCUMENT_BYTES, FAILURE_BYTES, FAILURE_CHARS, REDIRECTS, REQUEST,
        RETRY_AFTER_MAX, TRIES,
    },
    request::Request,
};
use reqwest::{
    Method, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, LINK, LOCATION, RETRY_AFTER},
};
use serde_json::{Value, json};
use std::time::Duration;

/// A service's response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServiceResponse {
    pub(crate) data: Value,
    /// The `Link` header.
    pub(crate) link: Option<String>,
}

/// Sends a request and reads the response. Retries transient failures if `repeatable` marks the
/// request as safe to repeat. The error is text for people and contains no secrets of ours.
pub(crate) async fn send(
    client: &Client,
    request: &Request,
    repeatable: bool,
    network: Network,
) -> Result<ServiceResponse, String> {
    let mut wait = BACK_OFF;
    let mut tries = 1;
    loop {
        let last = !repeatable || tries == TRIES;
        let delay = match send_once(client, request, network).await {
            Ok(response) if response.status().is_success() => return read(response).await,
            Ok(response) => {
                let status = response.status();
                let may_pass = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
                let delay = retry_after(&response);
                let too_long = delay.is_some_and(|delay| delay > RETRY_AFTER_MAX);
                if last || !may_pass || too_long {
                    return Err(error_message(response, delay).await);
                }
                delay
            }
            Err(SendError::Permanent(why)) => return Err(why),
            Err(SendError::Transient(why)) if last => return Err(why),
            Err(SendError::Transient(_)) => None,
        };
        tokio::time::sleep(delay.unwrap_or(wait)).await;
        wait *= 2;
        tries += 1;
    }
}

/// Downloads a document of at most `DOCUMENT_BYTES`. The error is text for people.
pub(crate) async fn document(client: &Client, url: &Url, network: Network) -> Result<Vec<u8>, String> {
    let (headers, url) = (HeaderMap::new(), url.clone());
    let request = Request { method: Method::GET, url, headers, body: None, shown: None };
    let response = match send_once(client, &request, network).await {
        Ok(response) => response,
        Err(SendError::Permanent(why) | SendError::Transient(why)) => return Err(why),
    };
    if !response.status().is_success() {
        return Err(error_message(response, None).await);
    }
    match bytes(response, DOCUMENT_BYTES).await? {
        (bytes, true) => Ok(bytes),
        (_, false) => Err(format!("the document has more than {} MB", DOCUMENT_BYTES / 1024 / 1024)),
    }
}

enum SendError {
    /// A retry would fail as well.
    Permanent(String),
    Transient(String),
}

/// Sends a request once, and follows redirects of GET and HEAD within the same origin.
async fn send_once(client: &Client, request: &Request, network: Network) -> Result<Response, SendError> {
    let mut url = request.url.clone();
    for _ in 0..=REDIRECTS {
        guard::check(&url, network).map_err(|refused| SendError::Permanent(refused.to_string()))?;
        let mut sent = client.request(request.method.clone(), url.clone()).headers(request.headers.clone());
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
        }
        let response = sent.timeout(REQUEST).send().await.map_err(|error| send_error(&error, &url))?;
        if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        let next = response.headers().get(LOCATION).and_then(|next| next.to_str().ok());
        let next = next.and_then(|next| url.join(next).ok());
        let Some(next) = next else { return Ok(response) };
        if !matches!(request.method, Method::GET | Method::HEAD) {
            let text = format!(
                "The service redirects {} requests ({}), which is not followed.",
                request.method,
                response.status()
            );
            return Err(SendError::Permanent(text));
        }
        if !same_origin(&url, &next) {
            let host = agent::one_line(next.host_str().unwrap_or_default());
            let text = format!("The service redirects to another host ({host}), which is not followed.");
            return Err(SendError::Permanent(text));
        }
        url = next;
    }
    Err(SendError::Permanent(format!("The service redirects more than {REDIRECTS} times.")))
}

/// Returns whether two URLs have the same scheme, host and port.
pub(crate) fn same_origin(a: &Url, b: &Url) -> bool {
    a.scheme() == b.scheme()
        && a.host_str() == b.host_str()
        && a.port_or_known_default() == b.port_or_known_default()
}

fn send_error(error: &reqwest::Error, url: &Url) -> SendError {
    let host = url.host_str().unwrap_or_default();
    match cause(error) {
        Cause::Refused(refused) => SendError::Permanent(refused.to_string()),
        Cause::Timeout => {
            SendError::Transient(format!("{host} did not answer within {} s.", REQUEST.as_secs()))
        }
        Cause::Failed(why) => SendError::Transient(format!("{host} could not be reached: {why}.")),
    }
}

/// The reason why a request got no response.
pub(crate) enum Cause {
    /// The address guard refused to connect.
    Refused(guard::RefusedAddress),
    Timeout,
    /// Anything else, in the words of the innermost error, which does not contain the URL.
    Failed(String),
}

/// Finds the reason for a failed request in its chain of errors.
pub(crate) fn cause(error: &reqwest::Error) -> Cause {
    let mut why = "the request failed".to_owned();
    let mut source: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(refused) = inner.downcast_ref::<guard::RefusedAddress>() {
            return Cause::Refused(refused.clone());
        }
        why = inner.to_string();
        source = inner.source();
    }
    if error.is_timeout() { Cause::Timeout } else { Cause::Failed(why) }
}

/// Returns the seconds of a `Retry-After` header; a date is ignored.
pub(crate) fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    Some(Duration::from_secs(text.trim().parse().ok()?))
}

async fn read(response: Response) -> Result<ServiceResponse, String> {
    let header = |name| -> Option<String> { Some(response.headers().get(&name)?.to_str().ok()?.to_owned()) };
    let (link, kind) = (header(LINK), header(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase());
    let empty = response.status() == StatusCode::NO_CONTENT;
    let (bytes, complete) = bytes(response, ANSWER_BYTES).await?;
    if !complete {
        return Err(format!(
            "The response is larger than {} MB; request less, with a smaller page or a filter.",
            ANSWER_BYTES / 1024 / 1024
        ));
    }
    if empty || bytes.is_empty() {
        return Ok(ServiceResponse { data: Value::Null, link });
    }
    let data = match serde_json::from_slice(&bytes) {
        Ok(value) => value,
        Err(error) if kind.contains("json") => {
            return Err(format!("The response claims to be JSON but is not: {error}"));
        }
        Err(_) => match String::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(error) => json!({ "content_type": kind, "bytes": error.as_bytes().len() }),
        },
    };
    Ok(ServiceResponse { data, link })
}

/// Reads at most `limit` bytes of a body; returns whether that is all of it.
pub(crate) async fn bytes(mut response: Response, limit: usize) -> Result<(Vec<u8>, bool), String> {
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok((bytes, true)),
            Ok(Some(more)) if bytes.len() + more.len() > limit => return Ok((bytes, false)),
            Ok(Some(more)) => bytes.extend_from_slice(&more),
            Err(error) => {
                return Err(format!("The response was interrupted: {}", error.without_url()));
            }
        }
    }
}

/// Formats an error response.
async fn error_message(response: Response, retry_after: Option<Duration>) -> String {
    let status = response.status();
    let reason = status.canonical_reason().unwrap_or_default();
    let bytes = bytes(response, FAILURE_BYTES).await.map(|(bytes, _)| bytes).unwrap_or_default();
    let reason_text = message(&String::from_utf8_lossy(&bytes));
    let mut text = format!("HTTP {} {reason}", status.as_u16()).trim_end().to_owned();
    if !reason_text.is_empty() {
        text.push_str(&format!(": {reason_text}"));
    }
    match retry_after {
        Some(retry_after) => text.push_str(&format!(" (try again in {} s)", retry_after.as_secs())),
        None if status == StatusCode::UNAUTHORIZED => text.push_str(" (check the account's credentials)"),
        None => {}
    }
    text
}

/// Extracts the message of an error response: from the usual members of an object, or as text,
/// unless it is an HTML page.
fn message(body: &str) -> String {
    let found = match serde_json::from_str::<Value>(body) {
        Ok(value) => {
            let places = [
                "/error/message",
                "/message",
                "/error_description",
                "/detail",
                "/err",
                "/error",
                "/errors",
                "",
            ];
            let found = places.iter().filter_map(|place| value.pointer(place)).find(|found| !found.is_null());
            match found {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            }
        }
        Err(_) if body.trim_start().starts_with('<') => String::new(),
        Err(_) => body.to_owned(),
    };
    agent::one_line(&agent::sanitise(found.trim())).chars().take(FAILURE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_an_error_response_is_extracted() {
        for (body, sentence) in [
            (r#"{"message":"Not Found","documentation_url":"x"}"#, "Not Found"),
            (r#"{"error":{"message":"bad","code":1}}"#, "bad"),
            (r#"{"err":"Team not authorized","ECODE":"OAUTH_023"}"#, "Team not authorized"),
            (r#"{"detail":["a"]}"#, r#"["a"]"#),
            (r#"{"name":["required"]}"#, r#"{"name":["required"]}"#),
            ("plain\nwords", "plain words"),
            ("<html>", ""),
            ("", ""),
        ] {
            assert_eq!(message(body).replace('⏎', " "), sentence, "{body}");
        }
        assert_eq!(message(&"x".repeat(5000)).len(), FAILURE_CHARS);
    }
}
