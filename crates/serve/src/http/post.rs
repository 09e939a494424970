//! POST: a message from the client.

use super::{
    Site, ended,
    headers::{self, CONNECTION_ID, MESSAGE_ID, PROTOCOL_VERSION, SESSION_ID},
    json_response,
    problem::Problem,
    source,
    trace::Trace,
};
use crate::{
    application::EndReason,
    connection::{Connection, Posted},
    limits::MESSAGE_BYTES,
    message::{Head, one_line},
};
use agent::Principal;
use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// The response to a batch, which the transport does not carry.
const BATCH: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported: POST one message at a time"}}"#;

/// Queues a message for the protocol. An `initialize` request without a connection opens one and is
/// answered in the response; all else is answered on the event streams.
pub(super) async fn post(site: &Site, parts: &Parts, body: Body) -> Result<Response, Problem> {
    let principal = site.principal(parts).await?;
    require_json(&parts.headers)?;
    let number = headers::number(&parts.headers, &MESSAGE_ID)?;
    let opens = headers::id(&parts.headers, &CONNECTION_ID)?.is_none();
    let connection = match opens {
        true => None,
        false => Some(site.connection(&parts.headers, &principal)?),
    };
    let _reserved = reserve(site, &parts.headers)?;
    let text = read(body).await?;
    if text.trim_start().starts_with('[') {
        let mut response = json_response(BATCH);
        *response.status_mut() = StatusCode::BAD_REQUEST;
        return Ok(response);
    }
    let head = Head::of(&text);
    let text = Trace::of(&parts.headers).added_to(&head, one_line(&text).into_owned());
    match connection {
        None => initialize(site, parts, principal, head, text).await,
        Some(connection) => deliver(&connection, &parts.headers, head, text, number),
    }
}

/// Opens a connection with its first message, and waits for the response.
async fn initialize(
    site: &Site,
    parts: &Parts,
    principal: Principal,
    head: Head,
    text: String,
) -> Result<Response, Problem> {
    let Some(id) = head.id.clone().filter(|_| head.is_request() && head.is_method("initialize")) else {
        return Err(Problem::bad_request(
            "the header Acp-Connection-Id is missing; only an initialize request opens a connection",
        ));
    };
    let permit = site.admit(&principal, parts).await?;
    let connection = site
        .registry
        .open(principal, source(parts), permit)
        .map_err(|_no_random| Problem::overloaded("the system has no random bytes"))?;
    let opening = Opening(Some(connection.clone()));
    let answer = connection.exchange(&id);
    connection.post(head, text, None);
    let Ok(answer) = answer.await else {
        return Err(Problem::overloaded("the connection ended before it was initialized; try again"));
    };
    let failed = std::str::from_utf8(&answer).is_ok_and(|text| Head::of(text).is_error);
    let mut response = json_response(answer);
    if !failed {
        opening.keep();
        if let Ok(id) = HeaderValue::from_str(&connection.id) {
            response.headers_mut().insert(CONNECTION_ID, id);
        }
    }
    Ok(response)
}

/// Ends a connection whose client went before it knew the id.
struct Opening(Option<Arc<Connection>>);

impl Opening {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if let Some(connection) = &self.0 {
            connection.end(EndReason::Deleted);
        }
    }
}

fn deliver(
    connection: &Connection,
    headers: &HeaderMap,
    head: Head,
    text: String,
    number: Option<u64>,
) -> Result<Response, Problem> {
    let session = headers::id(headers, &SESSION_ID)?;
    if let (Some(header), Some(member)) = (session, head.session.as_deref())
        && header != member
    {
        return Err(Problem::bad_request("the header Acp-Session-Id and params.sessionId differ"));
    }
    check_version(connection, headers)?;
    match connection.post(head, text, number) {
        Posted::Queued | Posted::Known => Ok(StatusCode::ACCEPTED.into_response()),
        Posted::Full => {
            Err(Problem::overloaded("too many requests of this connection are unanswered; wait for answers"))
        }
        Posted::Ended(reason) => Err(ended(reason)),
    }
}

/// Checks the version that a client names against the one that was negotiated.
pub(super) fn check_version(connection: &Connection, headers: &HeaderMap) -> Result<(), Problem> {
    let named = headers::number(headers, &PROTOCOL_VERSION)?;
    match (named, connection.version()) {
        (Some(named), Some(version)) if named != version => Err(Problem::bad_request(format!(
            "the header Acp-Protocol-Version is {named}, and version {version} was negotiated"
        ))),
        _ => Ok(()),
    }
}

fn require_json(headers: &HeaderMap) -> Result<(), Problem> {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    match kind.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "media_type",
            "send the message with the header \"Content-Type: application/json\"",
        )),
    }
}

/// Reserves memory for the body: its announced length, or the maximum.
fn reserve(site: &Site, headers: &HeaderMap) -> Result<OwnedSemaphorePermit, Problem> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let bytes: usize = announced.unwrap_or(MESSAGE_BYTES);
    if bytes > MESSAGE_BYTES {
        return Err(too_large());
    }
    let kib = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX);
    let reserved = site.unparsed.clone().try_acquire_many_owned(kib);
    reserved.map_err(|_full| Problem::overloaded("the server reads too many large messages; try again"))
}

async fn read(body: Body) -> Result<String, Problem> {
    let bytes = to_bytes(body, MESSAGE_BYTES).await.map_err(|error| {
        let mut source: Option<&dyn std::error::Error> = Some(&error);
        while let Some(cause) = source {
            if cause.is::<http_body_util::LengthLimitError>() {
                return too_large();
            }
            source = cause.source();
        }
        Problem::bad_request("the request's body ended early")
    })?;
    String::from_utf8(bytes.into())
        .map_err(|_| Problem::bad_request("the message is not UTF-8; nothing of it was processed"))
}

fn too_large() -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_large",
        format!("a message has at most {} MiB", MESSAGE_BYTES / (1024 * 1024)),
    )
}
