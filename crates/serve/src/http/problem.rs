//! Refusals of HTTP requests, as problem details (RFC 9457).

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use serde::Serialize;
use std::time::Duration;

/// Why a request was refused: nothing of it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// A word for programs, as in `data.reason` of JSON-RPC errors.
    pub reason: &'static str,
    /// What happened and what to do, for people.
    pub detail: String,
    /// When to try again, if waiting helps.
    pub retry_after: Option<Duration>,
    /// The value of the `WWW-Authenticate` header.
    pub challenge: Option<String>,
}

#[derive(Serialize)]
struct Details<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    reason: &'a str,
}

impl Problem {
    /// Creates a problem for which waiting does not help.
    pub fn new(status: StatusCode, reason: &'static str, detail: impl Into<String>) -> Self {
        Self { status, reason, detail: detail.into(), retry_after: None, challenge: None }
    }

    /// The request is not well-formed.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    /// The request is refused whatever its credential is.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    /// What the request is about does not exist.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    /// What the request needs cannot be reached now.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail)
    }

    /// The server has too much to do.
    pub(crate) fn overloaded(detail: impl Into<String>) -> Self {
        let wait = Some(Duration::from_secs(1));
        Self { retry_after: wait, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "overloaded", detail) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let details = Details {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            reason: self.reason,
        };
        let mut response = Response::new(Body::from(serde_json::to_vec(&details).unwrap_or_default()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(challenge) = self.challenge.and_then(|text| HeaderValue::try_from(text).ok()) {
            headers.insert(header::WWW_AUTHENTICATE, challenge);
        }
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
