//! GET: an event stream with the messages to the client.

use super::{
    Site, ended,
    headers::{self, LAST_EVENT_ID, SESSION_ID},
    post::check_version,
    problem::Problem,
};
use crate::{
    connection::{AttachError, Next, Reader, StreamKey},
    limits::COMMENT_INTERVAL,
};
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use futures::stream;
use std::{convert::Infallible, sync::Arc};
use tokio::time::{Instant, sleep_until};

/// Opens the stream of a connection or of one of its sessions, in place of the one that is open.
pub(super) async fn events(site: &Site, parts: &Parts) -> Result<Response, Problem> {
    let principal = site.principal(parts).await?;
    let accepts = parts.headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if !accepts.into_iter().any(|value| value.contains("text/event-stream")) {
        let detail = "GET answers with an event stream; send \"Accept: text/event-stream\"";
        return Err(Problem::new(StatusCode::NOT_ACCEPTABLE, "media_type", detail));
    }
    let connection = site.connection(&parts.headers, &principal)?;
    check_version(&connection, &parts.headers)?;
    let session = headers::id(&parts.headers, &SESSION_ID)?.map(str::to_owned);
    let name = session.clone().unwrap_or_default();
    let after = last_event(site, &parts.headers, &name)?;
    let key = session.map_or(StreamKey::Connection, StreamKey::Session);
    let reader = connection.attach(key, after).map_err(refusal)?;
    let events = Events {
        reader,
        prefix: format!("{}.{name}.", site.incarnation).into(),
        next_comment: Instant::now() + COMMENT_INTERVAL,
        over: false,
    };
    let body = Body::from_stream(stream::unfold(events, Events::next));
    let mut response = Response::new(body);
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

pub(super) fn refusal(error: AttachError) -> Problem {
    let detail = error.to_string();
    match error {
        AttachError::Resume(_) => Problem::new(StatusCode::CONFLICT, "resume_gap", detail),
        AttachError::Ended(reason) => ended(reason),
        AttachError::TooMany => Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail),
    }
}

/// Returns the number of the last event that the client received.
fn last_event(site: &Site, headers: &HeaderMap, name: &str) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    // A client that has received no event knows no id yet.
    if value == "0" {
        return Ok(Some(0));
    }
    let number = value.to_str().ok().and_then(|id| {
        let rest = id.strip_prefix(&*site.incarnation)?.strip_prefix('.')?;
        let number = rest.strip_prefix(name)?.strip_prefix('.')?;
        number.parse().ok()
    });
    number.map(Some).ok_or_else(|| {
        let detail = "this event id is not of this stream; load the session again";
        Problem::new(StatusCode::CONFLICT, "resume_unknown", detail)
    })
}

/// The body of an event stream.
struct Events {
    reader: Reader,
    /// The beginning of all event ids.
    prefix: Arc<str>,
    next_comment: Instant,
    over: bool,
}

impl Events {
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        if self.over {
            return None;
        }
        let next = tokio::select! {
            biased;
            next = self.reader.next() => Some(next),
            () = sleep_until(self.next_comment) => None,
        };
        self.next_comment = Instant::now() + COMMENT_INTERVAL;
        let text = match next {
            None => Bytes::from_static(b":\n\n"),
            Some(Next::Message(number, text)) => {
                let mut event = format!("id: {}{number}\ndata: ", self.prefix).into_bytes();
                event.extend_from_slice(&text);
                event.extend_from_slice(b"\n\n");
                event.into()
            }
            Some(Next::Superseded) => {
                self.over = true;
                Bytes::from_static(b"event: superseded\ndata: {}\n\n")
            }
            Some(Next::Ended(_)) => return None,
        };
        Some((Ok(text), self))
    }
}
