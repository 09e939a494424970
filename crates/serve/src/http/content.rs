//! Contents that messages name by their hash: `GET /acp/content/SESSION/HASH`.

use super::{Problem, Site, permit, source};
use agent::Scope;
use axum::{
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};

/// Answers with the content of a session of the user's own.
pub(super) async fn content(
    State(site): State<Site>,
    Path((session, hash)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, _body) = request.into_parts();
    let read = async {
        let principal = permit(site.principal(&parts).await?, Scope::SessionRead)?;
        let application = site.registry.application();
        let found = application.content(&principal, source(&parts), &session, &hash).await;
        found
            .map_err(|error| Problem::new(StatusCode::SERVICE_UNAVAILABLE, "store", error.to_string()))?
            .ok_or_else(|| {
                Problem::new(
                    StatusCode::NOT_FOUND,
                    "not_found",
                    "there is no such content in a session of yours",
                )
            })
    };
    match read.await {
        Ok(bytes) => octets(bytes),
        Err(problem) => problem.into_response(),
    }
}

/// Bytes of any kind, which no browser interprets.
fn octets(bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
