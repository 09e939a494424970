//! Administration: paths below `/admin/`, which exist on the Unix socket only.

pub use crate::connection::ConnectionInfo;

use crate::{
    connection::registry::Registry,
    http::Problem,
    limits::{ADMIN_ANSWER_BYTES, ADMIN_WAIT},
};
use agent::Principal;
use async_trait::async_trait;
use axum::http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::{io, path::Path, sync::Arc};
use tokio::{net::UnixStream, time::timeout};
use tokio_util::sync::CancellationToken;

/// What answers the requests of administrators. Each has a command, the last part of its path.
///
/// A request arrives only from a user of this machine whose principal has the scope `admin`. One
/// that changes something is in the audit before this is called.
#[async_trait]
pub trait Administration: Send + Sync {
    /// Answers a request with a JSON object.
    async fn answer(&self, node: &Node, request: AdminRequest) -> Result<Value, Problem>;
}

/// A request of an administrator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminRequest {
    /// The command, such as `status`.
    pub command: String,
    /// Whether it changes something: it came by POST.
    pub changes: bool,
    /// The JSON object of a POST; null for a GET.
    pub params: Value,
    /// Who asks.
    pub principal: Principal,
}

impl AdminRequest {
    /// Returns the problem of a request that names no command, or uses the wrong method.
    pub fn unknown(&self) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this path")
    }

    /// Returns the problem of parameters that cannot be used.
    pub fn invalid(detail: impl Into<String>) -> Problem {
        Problem::bad_request(detail)
    }
}

/// The server's own state, as far as administrators see and change it.
pub struct Node {
    registry: Arc<Registry>,
    draining: CancellationToken,
}

/// Which connections are closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// The one with this id.
    Connection(String),
    /// All of a user.
    User {
        /// The tenant; every one if there is none.
        tenant: Option<String>,
        /// The user.
        user: String,
    },
}

impl Node {
    pub(crate) fn new(registry: Arc<Registry>, draining: CancellationToken) -> Self {
        Self { registry, draining }
    }

    /// Returns the open connections, oldest first.
    pub fn connections(&self) -> Vec<ConnectionInfo> {
        let mut all: Vec<_> = self.registry.all().iter().filter_map(|connection| connection.info()).collect();
        all.sort_by(|a, b| (a.opened, &a.id).cmp(&(b.opened, &b.id)));
        all
    }

    /// Closes connections. Their clients cannot resume them, but may open new ones. Running turns
    /// go on. Returns those that were closed.
    pub fn disconnect(&self, which: &Selection) -> Vec<ConnectionInfo> {
        let is_meant = |info: &ConnectionInfo| match which {
            Selection::Connection(id) => info.id == *id,
            Selection::User { tenant, user } => {
                info.principal.user == *user
                    && tenant.as_ref().is_none_or(|tenant| info.principal.tenant == *tenant)
            }
        };
        let meant: Vec<_> = self.connections().into_iter().filter(is_meant).collect();
        for connection in self.registry.all() {
            if meant.iter().any(|info| info.id == connection.id) {
                connection.end(crate::EndReason::Disconnected);
            }
        }
        meant
    }

    /// Whether new connections are refused because the server stops.
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }
}

/// Why a server did not answer an administrator.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// Nothing listens on the socket.
    #[error("no server listens on {place}: {error}")]
    Unreachable {
        /// The path of the socket.
        place: String,
        /// What the system says.
        error: io::Error,
    },
    /// The socket, or the server, does not let this user in.
    #[error("{0}")]
    NotAllowed(String),
    /// The server refused for another reason.
    #[error("the server refused: {0}")]
    Refused(String),
    /// The answer was not understood.
    #[error("the server's answer cannot be read: {0}")]
    BadAnswer(String),
}

/// Sends a request to the server on a Unix socket and returns its answer: with parameters, to
/// change something; else, to read.
///
/// # Errors
/// If no server is there, it does not let this user in, or it refuses.
pub async fn ask(socket: &Path, command: &str, params: Option<&Value>) -> Result<Value, AskError> {
    let unreachable = |error| AskError::Unreachable { place: socket.display().to_string(), error };
    let late = || unreachable(io::ErrorKind::TimedOut.into());
    timeout(ADMIN_WAIT, exchange(socket, command, params)).await.unwrap_or_else(|_elapsed| Err(late()))
}

#[expect(clippy::disallowed_methods, reason = "this crate is the network; no editor has a socket")]
async fn exchange(socket: &Path, command: &str, params: Option<&Value>) -> Result<Value, AskError> {
    let place = socket.display().to_string();
    let stream = UnixStream::connect(socket).await.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            AskError::NotAllowed(format!("the socket {place} belongs to another user"))
        }
        _ => AskError::Unreachable { place: place.clone(), error },
    })?;
    let bad = |error: &dyn std::fmt::Display| AskError::BadAnswer(error.to_string());
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| bad(&error))?;
    let method = if params.is_some() { Method::POST } else { Method::GET };
    let body = params.map(Value::to_string).unwrap_or_default();
    let request = axum::http::Request::builder()
        .method(method)
        .uri(format!("/admin/{command}"))
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::new(bytes::Bytes::from(body)))
        .map_err(|error| bad(&error))?;
    let answering = async {
        let response = sender.send_request(request).await.map_err(|error| bad(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ADMIN_ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| AskError::BadAnswer(error.to_string()))?.to_bytes();
        Ok((status, body))
    };
    tokio::pin!(answering);
    let (status, body) = tokio::select! {
        answer = &mut answering => answer?,
        // It also ends when the server closes the socket after its answer.
        ended = connection => match answering.await {
            Ok(answer) => answer,
            Err(_) if ended.is_ok() => {
                let why = format!("the server on {place} closed the connection: it may not let this user in");
                return Err(AskError::NotAllowed(why));
            }
            Err(error) => return Err(error),
        },
    };
    let answer: Value = serde_json::from_slice(&body).map_err(|error| bad(&error))?;
    if status.is_success() {
        return Ok(answer);
    }
    let detail = answer["detail"].as_str().unwrap_or_default().to_owned();
    Err(match status {
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => AskError::NotAllowed(detail),
        _ => AskError::Refused(detail),
    })
}
