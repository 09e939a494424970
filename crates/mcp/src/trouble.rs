//! Error messages about servers: what happened, where, and what to do. The library's own texts name
//! its types, which do not help a user.

use crate::{
    config::{How, ServerConfig, without_query},
    sse,
};
use rmcp::{
    ServiceError, service::ClientInitializeError, transport::streamable_http_client::StreamableHttpError,
};
use std::{error::Error, io};

/// Returns why the handshake with a server failed that was reached or started.
pub(crate) fn of_start(server: &ServerConfig, how: &How, error: &ClientInitializeError) -> String {
    use ClientInitializeError as E;
    let said = match error {
        E::TransportError { error, .. } => return of_transport(server, how, error),
        E::LegacyFallbackFailed { fallback, .. } => return of_start(server, how, fallback),
        E::ConnectionClosed(_) => "it ended the connection before it answered".to_owned(),
        E::JsonRpcError(error) => {
            format!("it refused to start a session: {}", agent::one_line(&agent::sanitise(&error.message)))
        }
        E::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of the protocol that is spoken here; update it".to_owned()
        }
        E::ExpectedInitResponse(_)
        | E::ExpectedInitResult(_)
        | E::ConflictInitResponseId(..)
        | E::UncorrelatedErrorResponse { .. } => {
            "its first answer is none to `initialize`, so it is no MCP server, or a broken one".to_owned()
        }
        _ => "it could not be spoken to".to_owned(),
    };
    placed(how, &said)
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
pub(crate) fn lost_sign_in(error: &ServiceError) -> bool {
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
pub(crate) fn is_answered(error: &ClientInitializeError) -> bool {
    use ClientInitializeError as E;
    !matches!(error, E::ConnectionClosed(_) | E::TransportError { .. } | E::Cancelled)
}

/// Returns why a request failed on the way.
pub(crate) fn of_request(server: &ServerConfig, error: &ServiceError) -> String {
    match error {
        ServiceError::TransportSend(error) => of_transport(server, &server.how, error),
        ServiceError::McpError(error) => error.message.clone().into_owned(),
        ServiceError::Timeout { timeout } => format!("timed out after {}s.", timeout.as_secs_f64()),
        ServiceError::UnexpectedResponse => "it answered with something that is no answer".to_owned(),
        _ => placed(&server.how, "the connection ended"),
    }
}

/// The advice for a server that cannot be reached.
const START: &str = "Start it, or correct its `url`.";

fn of_transport(server: &ServerConfig, how: &How, error: &(dyn Error + 'static)) -> String {
    let causes = causes(error);
    for cause in &causes {
        if let Some(error) = cause.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            return of_http(server, how, error, &causes);
        }
        if let Some(error) = cause.downcast_ref::<sse::SseError>() {
            return of_sse(server, how, error);
        }
        if let Some(error) = cause.downcast_ref::<io::Error>() {
            return placed(how, &format!("it does not take what it is sent ({error})"));
        }
    }
    placed(how, "the connection ended")
}

fn of_sse(server: &ServerConfig, how: &How, error: &sse::SseError) -> String {
    match error {
        sse::SseError::Client(error) => of_client(how, error),
        sse::SseError::Status(status) => of_status(server, how, *status),
        sse::SseError::Type(kind) => of_type(how, Some(kind)),
        other => placed(how, &other.to_string()),
    }
}

fn of_http(
    server: &ServerConfig,
    how: &How,
    error: &StreamableHttpError<reqwest::Error>,
    causes: &[&(dyn Error + 'static)],
) -> String {
    use StreamableHttpError as E;
    match error {
        E::Client(error) => of_client(how, error),
        E::HttpStatus(error) => of_status(server, how, error.status),
        E::AuthRequired(_) => of_status(server, how, 401),
        E::InsufficientScope(_) => of_status(server, how, 403),
        E::SessionExpired => placed(how, "it has forgotten the session; try again"),
        E::UnexpectedContentType(kind) => of_type(how, kind.as_deref()),
        E::UnexpectedServerResponse(text) => match status_of(text) {
            Some(status) => of_status(server, how, status),
            None => placed(
                how,
                "it answered with something that is no MCP message. Is its `url` that of an MCP server?",
            ),
        },
        E::Deserialize(_) => placed(how, "it answered with something that is no MCP message"),
        E::ResponseBodyTooLarge { max_size } => {
            placed(how, &format!("it answered with more than {max_size} bytes"))
        }
        E::UnexpectedEndOfStream | E::TransportChannelClosed | E::Sse(_) => {
            placed(how, "it ended the connection before it answered")
        }
        _ => match causes.iter().find_map(|cause| cause.downcast_ref::<reqwest::Error>()) {
            Some(error) => of_client(how, error),
            None => placed(how, "the connection failed"),
        },
    }
}

/// Parses the status at the beginning of one of the library's texts: `HTTP 404 Not Found: …`.
fn status_of(text: &str) -> Option<u16> {
    text.strip_prefix("HTTP ")?.split([' ', ':']).next()?.parse().ok()
}

fn of_status(server: &ServerConfig, how: &How, status: u16) -> String {
    let todo = match status {
        401 => return placed(how, "it answered 401: it does not let us in"),
        403 => "it refuses us: look at its `headers`, or at what you are allowed there",
        404 | 410 => "there is no MCP server at this address: correct its `url`",
        405 | 415 | 406 | 400 => {
            "it does not take MCP over streamable HTTP there: correct its `url`, or, if it speaks the older transport with events, describe it \
             with `\"type\": \"sse\"`"
        }
        300..=399 => "it sends us to another address, which is not followed: describe it with that one",
        429 => "it is asked too often: try again later",
        500..=599 => "it has a problem of its own: try again later, or look at its log",
        _ => "that is no answer of an MCP server: correct its `url`",
    };
    // A server described with `sse` uses the older transport already.
    let todo = if is_sse(server) { todo.split(", or, if").next().unwrap_or(todo) } else { todo };
    let reason = reqwest::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let reason = reason.map(|reason| format!(" {reason}")).unwrap_or_default();
    placed(how, &format!("it answered {status}{reason}: {todo}"))
}

fn is_sse(server: &ServerConfig) -> bool {
    matches!(server.how, How::Http { sse: true, .. })
}

fn of_type(how: &How, kind: Option<&str>) -> String {
    let kind = kind.and_then(|kind| kind.split(';').next()).map(agent::one_line);
    match kind.as_deref() {
        Some("text/html") => placed(
            how,
            "it answered with a web page (text/html) and not with MCP: correct its `url`, which often ends in /mcp",
        ),
        Some(kind) => placed(how, &format!("it answered with {kind} and not with MCP: correct its `url`")),
        None => placed(how, "its answer does not say what it is, so it is no MCP server: correct its `url`"),
    }
}

/// Returns why a request did not arrive, or got no response.
fn of_client(how: &How, error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut refused = false;
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(now) = cause {
        text.push_str(&now.to_string());
        text.push('\n');
        refused = refused
            || now
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
        cause = now.source();
    }
    let text = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let said = if refused {
        format!("the connection was refused: nothing listens there. {START}")
    } else if has(&["dns", "lookup", "name or service not known", "failed to resolve"]) {
        "its host was not found. Correct its `url`, or look at your network".to_owned()
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
        "it does not speak TLS there. Write http:// where it is not encrypted".to_owned()
    } else if error.is_timeout() {
        format!("it did not answer in time. {START}")
    } else if error.is_connect() {
        format!("no connection could be made. {START}")
    } else {
        "the connection broke off before it had answered".to_owned()
    };
    placed(how, &said)
}

/// Prefixes a message with the server's URL.
fn placed(how: &How, said: &str) -> String {
    let end = if said.ends_with('.') { "" } else { "." };
    match how {
        How::Http { url, .. } => format!("{} could not be used: {said}{end}", without_query(url)),
        How::Stdio { .. } => format!("{said}{end}"),
    }
}
