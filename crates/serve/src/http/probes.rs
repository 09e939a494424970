//! What probes and administrators ask: whether the node lives, and whether it takes clients.

use super::{Site, authenticated, nothing_here, permit, problem::Problem, source};
use crate::auth::Source;
use agent::Scope;
use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};

/// Answers `ok` if tasks of the node run. A node that does not should be started again.
pub(super) async fn health(State(site): State<Site>) -> Response {
    match site.load.is_alive() {
        true => "ok".into_response(),
        false => unavailable("the node stands still"),
    }
}

/// Answers whether the node takes new clients. Why it does not is for those who may see metrics.
pub(super) async fn ready(State(site): State<Site>, request: Request) -> Response {
    let (parts, _body) = request.into_parts();
    let ready = match site.draining.is_cancelled() {
        true => Err("the server stops".to_owned()),
        false => site.load.ready().await,
    };
    match ready {
        Ok(()) => "ready".into_response(),
        Err(why) if may_see_metrics(&site, &parts).await => unavailable(&why),
        Err(_) => unavailable("the node takes no new clients now"),
    }
}

/// Answers with the metrics, on the Unix socket and on listeners for them.
pub(super) async fn metrics(State(site): State<Site>, request: Request) -> Response {
    let (parts, _body) = request.into_parts();
    answer_metrics(&site, &parts).await.unwrap_or_else(|problem| problem.into_response())
}

async fn answer_metrics(site: &Site, parts: &Parts) -> Result<Response, Problem> {
    let source = source(parts);
    let metrics =
        site.measured.metrics.as_ref().filter(|_| site.is_for_metrics || matches!(source, Source::Unix(_)));
    let metrics = metrics.ok_or_else(nothing_here)?;
    let principal = site.access.authenticate(&parts.headers, source).await?;
    authenticated(parts);
    permit(principal, Scope::Metrics)?;
    let connections = site.registry.all();
    for transport in ["http", "websocket"] {
        let count = connections.iter().filter(|connection| connection.transport() == transport).count();
        metrics.set("tiller_connections", &[("transport", transport)], count);
    }
    let bytes = connections.iter().map(|connection| connection.bytes()).sum();
    metrics.set("tiller_outbox_bytes", &[], bytes);
    metrics.set("tiller_sockets", &[], (site.measured.open_sockets)());
    metrics.set("tiller_sessions_open", &[], site.load.sessions());
    metrics.set("tiller_turns_running", &[], site.load.turns());
    let mut response = metrics.text().into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn unavailable(detail: &str) -> Response {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", detail).into_response()
}

/// Whether the request has a credential that permits to see metrics.
async fn may_see_metrics(site: &Site, parts: &Parts) -> bool {
    let source = source(parts);
    // A probe without a credential is no failed attempt.
    if !matches!(source, Source::Unix(_)) && !parts.headers.contains_key(header::AUTHORIZATION) {
        return false;
    }
    match site.access.authenticate(&parts.headers, source).await {
        Ok(principal) => {
            authenticated(parts);
            principal.scopes.has(Scope::Metrics)
        }
        Err(_) => false,
    }
}
