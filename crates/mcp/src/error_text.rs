//! Error messages about servers: what happened, where, and what to do. The library's own texts name
//! its types, which do not help a user.

use crate::{
    config::{ServerConfig, ServerTransport, without_query},
    sse,
};
use rmcp::{
    ServiceError, service::ClientInitializeError, transport::streamable_http_client::StreamableHttpError,
};
use std::{error::Error, io};

/// Returns why the handshake with a server failed that was reached or started.
pub(crate) fn handshake_error(
    server: &ServerConfig,
    transport: &ServerTransport,
    error: &ClientInitializeError,
) -> String {
    use ClientInitializeError as E;
    let text = match error {
        E::TransportError { error, .. } => return transport_error(server, transport, error),
        E::LegacyFallbackFailed { fallback, .. } => return handshake_error(server, transport, fallback),
        E::ConnectionClosed(_) => "it closed the connection before it sent a response".to_owned(),
        E::JsonRpcError(error) => {
            format!("it refused to start a session: {}", agent::one_line(&agent::sanitise(&error.message)))
        }
        E::NoCompatibleProtocolVersion { .. } => {
            "it supports none of our protocol versions; update it".to_owned()
        }
        E::ExpectedInitResponse(_)
        | E::ExpectedInitResult(_)
        | E::ConflictInitResponseId(..)
        | E::UncorrelatedErrorResponse { .. } => {
            "its first message is not a response to `initialize`, so it is not an MCP server, or a broken one"
                .to_owned()
        }
        _ => "the handshake failed".to_owned(),
    };
    with_url(transport, &text)
}

/// Returns whether a server requires a sign-in.
pub(crate) fn wants_sign_in(error: &ClientInitializeError) -> bool {
    use ClientInitializeError as E;
    match error {
        E::TransportError { error, .. } => is_unauthorized(error),
        E::LegacyFallbackFailed { fallback, .. } => wants_sign_in(fallback),
        _ => false,
    }
}

/// Returns whether a request failed because the server requires a sign-in.
pub(crate) fn is_sign_in_lost(error: &ServiceError) -> bool {
    matches!(error, ServiceError::TransportSend(error) if is_unauthorized(error))
}

/// Checks the error's type and not its text: a URL in it may contain the number.
fn is_unauthorized(error: &(dyn Error + 'static)) -> bool {
    use StreamableHttpError as E;
    causes(error).into_iter().any(|cause| {
        let http = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>();
        let sse = cause.downcast_ref::<sse::SseError>();
        match http {
            Some(E::AuthRequired(_)) => true,
            Some(E::HttpStatus(error)) => error.status == 401,
            Some(E::UnexpectedServerResponse(text)) => status_of(text) == Some(401),
            _ => matches!(sse, Some(sse::SseError::Status(401))),
        }
    })
}

/// Returns an error and its sources.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut causes = vec![error];
    let mut cause = error.source();
    while let Some(now) = cause {
        causes.push(now);
        cause = now.source();
    }
    causes
}

/// Returns whether a started server sent a response, though a wrong one.
pub(crate) fn has_response(error: &ClientInitializeError) -> bool {
    use ClientInitializeError as E;
    !matches!(error, E::ConnectionClosed(_) | E::TransportError { .. } | E::Cancelled)
}

/// Returns why a request failed on the way.
pub(crate) fn request_error(server: &ServerConfig, error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => transport_error(server, &server.transport, error),
        ServiceError::McpError(error) => error.message.clone().into_owned(),
        ServiceError::Timeout { timeout } => format!("timed out after {}s.", timeout.as_secs_f64()),
        ServiceError::UnexpectedResponse => "its response to the request has the wrong type".to_owned(),
        _ => with_url(&server.transport, "the connection ended"),
    }
}

/// The advice for a server that cannot be reached.
const START: &str = "Start it, or correct its `url`.";

fn transport_error(
    server: &ServerConfig,
    transport: &ServerTransport,
    error: &(dyn Error + 'static),
) -> String {
    let causes = causes(error);
    for cause in &causes {
        if let Some(error) = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            return http_error(server, transport, error, &causes);
        }
        if let Some(error) = cause.downcast_ref::<sse::SseError>() {
            return sse_error(server, transport, error);
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return with_url(transport, &format!("writing to it failed ({error})"));
        }
    }
    with_url(transport, "the connection ended")
}

fn sse_error(server: &ServerConfig, transport: &ServerTransport, error: &sse::SseError) -> String {
    match error {
        sse::SseError::Client(error) => client_error(transport, error),
        sse::SseError::Status(status) => status_error(server, transport, *status),
        sse::SseError::ContentType(kind) => content_type_error(transport, Some(kind)),
        other => with_url(transport, &other.to_string()),
    }
}

fn http_error(
    server: &ServerConfig,
    transport: &ServerTransport,
    error: &StreamableHttpError<reqwest::Error>,
    causes: &[&(dyn Error + 'static)],
) -> String {
    use StreamableHttpError as E;
    match error {
        E::Client(error) => client_error(transport, error),
        E::HttpStatus(error) => status_error(server, transport, error.status),
        E::AuthRequired(_) => status_error(server, transport, 401),
        E::InsufficientScope(_) => status_error(server, transport, 403),
        E::SessionExpired => with_url(transport, "the server ended the session; try again"),
        E::UnexpectedContentType(kind) => content_type_error(transport, kind.as_deref()),
        E::UnexpectedServerResponse(text) => match status_of(text) {
            Some(status) => status_error(server, transport, status),
            None => with_url(
                transport,
                "its response is not an MCP message. Check that its `url` is that of an MCP server",
            ),
        },
        E::Deserialize(_) => with_url(transport, "its response is not an MCP message"),
        E::ResponseBodyTooLarge { max_size } => {
            with_url(transport, &format!("it answered with more than {max_size} bytes"))
        }
        E::UnexpectedEndOfStream | E::TransportChannelClosed | E::Sse(_) => {
            with_url(transport, "it closed the connection before it sent a response")
        }
        _ => match causes.iter().find_map(|cause| cause.downcast_ref::<reqwest::Error>()) {
            Some(error) => client_error(transport, error),
            None => with_url(transport, "the connection failed"),
        },
    }
}

/// Parses the status at the beginning of one of the library's texts: `HTTP 404 Not Found: …`.
fn status_of(text: &str) -> Option<u16> {
    text.strip_prefix("HTTP ")?.split([' ', ':']).next()?.parse().ok()
}

fn status_error(server: &ServerConfig, transport: &ServerTransport, status: u16) -> String {
    let advice = match status {
        401 => return with_url(transport, "it answered 401: it rejected the credentials, or requires some"),
        403 => "access is denied: check its `headers`, and your permissions there",
        404 | 410 => "there is no MCP server at this address: correct its `url`",
        405 | 415 | 406 | 400 => {
            "it does not accept MCP over streamable HTTP there: correct its `url`, or, if it uses the older HTTP+SSE transport, describe it \
             with `\"type\": \"sse\"`"
        }
        300..=399 => {
            "it redirects to another address, and redirects are not followed: set its `url` to that address"
        }
        429 => "too many requests: try again later",
        500..=599 => "the server failed: try again later, or check its log",
        _ => "an MCP server does not answer with that: correct its `url`",
    };
    // A server described with `sse` uses the older transport already.
    let advice = if is_sse(server) { advice.split(", or, if").next().unwrap_or(advice) } else { advice };
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let reason = reason.map(|reason| format!(" {reason}")).unwrap_or_default();
    with_url(transport, &format!("it answered {status}{reason}: {advice}"))
}

fn is_sse(server: &ServerConfig) -> bool {
    matches!(server.transport, ServerTransport::Http { sse: true, .. })
}

fn content_type_error(transport: &ServerTransport, kind: Option<&str>) -> String {
    let kind = kind.and_then(|kind| kind.split(';').next()).map(agent::one_line);
    match kind.as_deref() {
        Some("text/html") => with_url(
            transport,
            "it answered with a web page (text/html), not with MCP: correct its `url`, which often ends in /mcp",
        ),
        Some(kind) => {
            with_url(transport, &format!("it answered with {kind}, not with MCP: correct its `url`"))
        }
        None => with_url(
            transport,
            "its response has no content type, so it is not an MCP server: correct its `url`",
        ),
    }
}

/// Returns why a request did not arrive, or got no response.
fn client_error(transport: &ServerTransport, error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut refused = false;
    let mut last = String::new();
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(now) = cause {
        last = now.to_string();
        text.push_str(&last);
        text.push('\n');
        refused = refused
            || now
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        cause = now.source();
    }
    let text = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let text = if refused {
        format!("the connection was refused: nothing listens there. {START}")
    } else if has(&["not on the public internet"]) {
        // The address guard says what is wrong with it.
        last
    } else if has(&["dns", "lookup", "name or service not known", "failed to resolve"]) {
        "its host was not found. Correct its `url`, or check your network".to_owned()
    } else if has(&["certificate"]) {
        let why = if has(&["unknownissuer", "unknown issuer"]) {
            "its issuer is not trusted on this machine"
        } else if has(&["expired"]) {
            "it has expired"
        } else if has(&["notvalidforname", "not valid for name"]) {
            "it is for another name"
        } else {
            "it is not valid"
        };
        format!(
            "its certificate is not accepted: {why}. Give the server a valid one, or have its issuer trusted on this machine"
        )
    } else if has(&["corrupt message", "invalidcontenttype", "handshake", "alert"]) {
        "it does not use TLS there. Use http:// for an unencrypted server".to_owned()
    } else if error.is_timeout() {
        format!("it did not answer in time. {START}")
    } else if error.is_connect() {
        format!("no connection could be made. {START}")
    } else {
        "the connection was interrupted before a response arrived".to_owned()
    };
    with_url(transport, &text)
}

/// Prefixes a message with the server's URL.
fn with_url(transport: &ServerTransport, text: &str) -> String {
    let end = if text.ends_with('.') { "" } else { "." };
    match transport {
        ServerTransport::Http { url, .. } => format!("{} could not be used: {text}{end}", without_query(url)),
        ServerTransport::Stdio { .. } => format!("{text}{end}"),
    }
}
