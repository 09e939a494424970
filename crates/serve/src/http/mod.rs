//! The HTTP side: one path for the protocol, and a few beside it.

mod admin;
mod checks;
mod content;
mod events;
mod headers;
mod post;
mod probes;
mod problem;
mod socket;
mod trace;

pub use checks::Names;
pub use problem::Problem;

use crate::{
    access::Access,
    admin::Administration,
    auth::{Credentials, Permit, Source, Ticket, wall_clock},
    connection::Connection,
    connection::registry::{Found, Registry},
    limits::{OVERLOAD_RETRY, UNPARSED_BYTES},
    listen::Proxies,
    load::Load,
    nodes::identity::Forwarded,
    telemetry::Metrics,
};
use agent::{Principal, Scope};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse as _, Response},
    routing::{any, get, post},
};
use headers::CONNECTION_ID;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// What all requests of a listener share.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) access: Arc<Access>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) names: Arc<Names>,
    /// Reserves memory for request bodies, a permit for each KiB.
    pub(crate) unparsed: Arc<Semaphore>,
    /// Distinguishes the event ids of this process from those of an earlier one.
    pub(crate) incarnation: Arc<str>,
    /// Whether new connections are refused because the server stops.
    pub(crate) draining: CancellationToken,
    /// How much the node has to do.
    pub(crate) load: Load,
    /// What is measured.
    pub(crate) measured: Measured,
    /// Whether the listener offers metrics only.
    pub(crate) is_for_metrics: bool,
    /// What answers administrators, if anything does.
    pub(crate) administration: Option<Arc<dyn Administration>>,
}

/// What is measured.
#[derive(Clone)]
pub(crate) struct Measured {
    /// The metrics, if they are offered.
    pub(crate) metrics: Option<Metrics>,
    /// Returns the number of open sockets.
    pub(crate) open_sockets: Arc<dyn Fn() -> usize + Send + Sync>,
}

impl Site {
    /// Returns the permits for the bytes of all request bodies that are not parsed yet.
    pub(crate) fn unparsed() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(UNPARSED_BYTES / 1024))
    }

    /// Returns whose request it is, if it may connect.
    async fn principal(&self, parts: &Parts) -> Result<Principal, Problem> {
        if from_node(parts) {
            let forwarded = Forwarded::of_headers(&parts.headers)?;
            authenticated(parts);
            return permit(forwarded.principal, Scope::Connect);
        }
        let principal = self.access.authenticate(&parts.headers, source(parts)).await?;
        authenticated(parts);
        permit(principal, Scope::Connect)
    }

    /// Returns the connection that a request names.
    fn connection(&self, headers: &HeaderMap, principal: &Principal) -> Result<Arc<Connection>, Problem> {
        let Some(id) = headers::id(headers, &CONNECTION_ID)? else {
            return Err(Problem::bad_request(
                "the header Acp-Connection-Id is missing; POST an initialize request first",
            ));
        };
        match self.registry.find(id, principal) {
            Found::Open(connection) => Ok(connection),
            Found::Ended(reason) => Err(ended(reason)),
            Found::Unknown => Err(Problem::new(
                StatusCode::NOT_FOUND,
                "resume_unknown",
                "there is no such connection; initialize a new one",
            )),
        }
    }

    /// Admits a new connection: refuses it while the server stops or has too much to do, and beyond
    /// the user's quota.
    async fn admit(&self, principal: &Principal, parts: &Parts) -> Result<Option<Permit>, Problem> {
        if self.draining.is_cancelled() {
            return Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "draining",
                "the server stops; connect again in a moment",
            ));
        }
        if self.load.overloaded().is_some() {
            metrics::counter!("tiller_overloaded_total", "what" => "connection").increment(1);
            let refused = Problem::overloaded("the server has too much to do; connect again later");
            return Err(Problem { retry_after: Some(OVERLOAD_RETRY), ..refused });
        }
        match from_node(parts) {
            // The node that forwards has counted its client's connection.
            true => Ok(None),
            false => self.access.admit(principal, source(parts)).await,
        }
    }
}

/// The refusal of a request on a connection that has ended.
fn ended(reason: crate::EndReason) -> Problem {
    use crate::EndReason::{
        Deleted, Disconnected, Expired, Finished, Gap, Overloaded, Revoked, SlowReader, Stopped,
    };
    let (word, detail) = match reason {
        Gap | SlowReader | Overloaded => {
            ("resume_gap", "messages of this connection are lost; load its sessions again")
        }
        Disconnected => ("ended", "an administrator closed the connection; load its sessions on a new one"),
        Finished | Deleted => ("ended", "the connection was closed; initialize a new one"),
        Expired => ("ended", "the connection had no socket for too long; load its sessions again"),
        Revoked | Stopped => ("ended", "the credential of this connection is no longer valid"),
        _ => ("ended", "the connection has ended; load its sessions on a new one"),
    };
    Problem::new(StatusCode::CONFLICT, word, detail)
}

/// Refuses a principal without a scope.
pub(crate) fn permit(principal: Principal, scope: Scope) -> Result<Principal, Problem> {
    Credentials::require(&principal, scope)?;
    Ok(principal)
}

/// The socket that a request arrived on.
#[derive(Clone)]
pub(crate) struct Arrival {
    pub(crate) source: Source,
    /// Released once a request on the socket was authenticated.
    pub(crate) unauthenticated: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    /// Whether the socket uses TLS.
    pub(crate) tls: bool,
    /// The proxies that may name another source.
    pub(crate) proxies: Arc<Proxies>,
    /// Whether the peer is a node, which names the user that it forwards for.
    pub(crate) from_node: bool,
}

/// Counts a socket as open until the last copy is dropped.
#[derive(Clone)]
pub(crate) struct HeldSocket {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl HeldSocket {
    /// Creates the first copy.
    pub(crate) fn new(permit: OwnedSemaphorePermit) -> Self {
        Self { _permit: Arc::new(permit) }
    }
}

impl Arrival {
    /// Creates the arrival of requests on a socket, with what is released once one of them was
    /// authenticated.
    pub(crate) fn new(source: Source, reserved: Option<OwnedSemaphorePermit>, tls: bool) -> Self {
        let unauthenticated = Arc::new(Mutex::new(reserved));
        Self { source, unauthenticated, tls, proxies: Arc::default(), from_node: false }
    }

    /// Returns the arrival of one request, which a proxy may have forwarded.
    pub(crate) fn for_request(&self, headers: &HeaderMap) -> Self {
        let Source::Address(peer) = self.source else { return self.clone() };
        Self {
            source: Source::Address(self.proxies.client(peer, headers)),
            tls: self.tls || self.proxies.is_secure(peer, headers),
            ..self.clone()
        }
    }
}

/// Whether a request is from another node.
fn from_node(parts: &Parts) -> bool {
    parts.extensions.get::<Arrival>().is_some_and(|arrival| arrival.from_node)
}

/// Returns where the client of a request is.
fn source(parts: &Parts) -> Source {
    if from_node(parts)
        && let Ok(forwarded) = Forwarded::of_headers(&parts.headers)
    {
        return forwarded.source;
    }
    // Every listener adds it; a request without it is treated as one from an unknown address.
    parts
        .extensions
        .get::<Arrival>()
        .map_or(Source::Address(std::net::Ipv4Addr::UNSPECIFIED.into()), |arrival| arrival.source)
}

fn authenticated(parts: &Parts) {
    if let Some(arrival) = parts.extensions.get::<Arrival>() {
        arrival.unauthenticated.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Returns the paths of a listener.
pub(crate) fn router(site: Site) -> Router {
    let probes = Router::new()
        .route("/health", get(probes::health))
        .route("/ready", get(probes::ready))
        .route("/metrics", get(probes::metrics))
        .fallback(|| async { nothing_here().into_response() });
    let routes = match site.is_for_metrics {
        true => probes,
        false => probes
            .route("/acp", any(acp))
            .route("/acp/ticket", post(ticket))
            .route("/acp/content/{session}/{hash}", get(content::content))
            .route("/admin/{command}", any(admin::admin)),
    };
    routes.layer(middleware::from_fn_with_state(site.clone(), check)).with_state(site)
}

/// The answer for a path at which there is nothing.
fn nothing_here() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path")
}

/// Applies the checks that concern every path.
async fn check(State(site): State<Site>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(problem) = checks::check(&site.names, &parts) {
        return problem.into_response();
    }
    if checks::is_probe(&parts) && parts.headers.contains_key(header::ORIGIN) {
        return Problem::forbidden("web pages may not probe the server").into_response();
    }
    let origin = checks::origin(&parts.headers).ok().flatten().map(str::to_owned);
    let tls = parts.extensions.get::<Arrival>().is_some_and(|arrival| arrival.tls);
    let mut response = match checks::preflight(&site.names, &parts) {
        Some(answer) => answer.into_response(),
        None => next.run(Request::from_parts(parts, body)).await,
    };
    let headers = response.headers_mut();
    checks::allow_origin(&site.names, origin.as_deref(), headers);
    if tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
    response
}

/// The path of the protocol.
async fn acp(State(site): State<Site>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if from_node(&parts) && !is_upgrade(&parts.headers) {
        return Problem::bad_request("nodes connect by WebSocket").into_response();
    }
    let answer = match parts.method {
        Method::POST => post::post(&site, &parts, body).await,
        Method::DELETE => delete(&site, &parts).await,
        Method::CONNECT => socket::upgrade(&site, parts).await,
        Method::GET if is_upgrade(&parts.headers) => socket::upgrade(&site, parts).await,
        Method::GET => events::events(&site, &parts).await,
        _ => {
            let detail = "this path takes GET, POST and DELETE";
            let mut response = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method", detail).into_response();
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
            return response;
        }
    };
    answer.unwrap_or_else(|problem| problem.into_response())
}

fn is_upgrade(headers: &HeaderMap) -> bool {
    let value = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// Ends a connection. Its prompts are cancelled; its sessions stay.
async fn delete(site: &Site, parts: &Parts) -> Result<Response, Problem> {
    let principal = site.principal(parts).await?;
    site.connection(&parts.headers, &principal)?.end(crate::EndReason::Deleted);
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Issues a ticket, with which a browser opens a WebSocket.
async fn ticket(State(site): State<Site>, request: Request) -> Response {
    let (parts, _body) = request.into_parts();
    let issued = match site.principal(&parts).await {
        Ok(principal) => site.access.issue(&principal, checks::origin(&parts.headers).ok().flatten()),
        Err(problem) => Err(problem),
    };
    match issued {
        Ok(ticket) => {
            let body = json!({ "ticket": ticket.expose(), "expiresAt": (wall_clock()() + Ticket::LIFETIME).to_string() });
            json_response(body.to_string())
        }
        Err(problem) => problem.into_response(),
    }
}

fn json_response(text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
