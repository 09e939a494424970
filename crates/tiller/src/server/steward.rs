//! Answers the requests of administrators in the running server.

use super::{
    admin::rows::{
        ConnectionRow, Disconnected, Draining, ExpiringToken, ExportedSession, Load, NodeList, NodeRow,
        OpenSession, OpenSessions, ServerStatus,
    },
    departure::Departing,
    users::Users,
};
use crate::{answer::rfc3339, limits::EXPIRES_SOON};
use ::serve::{
    Problem,
    admin::{AdminRequest, Administration, ConnectionInfo, Node, Selection},
    auth::{TokenStore, wall_clock},
};
use agent::{
    SessionHandle, SessionId, StoreError,
    principal::{Operation, may},
};
use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use store::StoreAddress;

/// What a running server tells its administrators.
pub(super) struct Steward {
    pub(super) users: Arc<Users>,
    pub(super) tokens: Arc<dyn TokenStore>,
    pub(super) store: StoreAddress,
    pub(super) listeners: Vec<String>,
    pub(super) started: Timestamp,
    pub(super) departing: Departing,
}

#[async_trait]
impl Administration for Steward {
    async fn answer(&self, node: &Node, request: AdminRequest) -> Result<Value, Problem> {
        match (request.command.as_str(), request.changes) {
            ("status", false) => object(self.status(node).await),
            ("sessions", false) => object(self.sessions()),
            ("nodes", false) => object(self.nodes(node).await?),
            ("export", true) => object(self.export(&request).await?),
            ("drain", true) => object(self.drain(node).await),
            ("disconnect", true) => object(disconnect(node, &request.params)?),
            _ => Err(request.unknown()),
        }
    }
}

impl Steward {
    async fn status(&self, node: &Node) -> ServerStatus {
        let now = wall_clock()();
        let open = self.users.open_sessions();
        // A store that cannot be read is in the log already, and none of its tokens is accepted.
        let tokens = self.tokens.list().await.unwrap_or_default();
        let soon = tokens.into_iter().filter(|row| row.is_valid_at(now)).filter_map(|row| {
            let expires = row.expires?;
            let is_soon = now.checked_add(EXPIRES_SOON).is_ok_and(|soon| expires < soon);
            let expires = expires.to_string();
            is_soon.then_some(ExpiringToken { id: row.id, name: row.name, user: row.user, expires })
        });
        ServerStatus {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            started: rfc3339(self.started.as_millisecond()),
            uptime_seconds: u64::try_from(now.duration_since(self.started).as_secs()).unwrap_or_default(),
            listeners: self.listeners.clone(),
            connections: node.connections().into_iter().map(row).collect(),
            load: Load {
                users: self.users.count(),
                open_sessions: open.len(),
                running_turns: open.iter().filter(|(_, session)| session.state().busy).count(),
            },
            store: self.store.to_string(),
            draining: node.is_draining(),
            expiring_tokens: soon.collect(),
        }
    }

    /// Has the server stop, and returns what it does then.
    async fn drain(&self, node: &Node) -> Draining {
        let open = self.users.open_sessions();
        let draining = Draining {
            pid: std::process::id(),
            other_nodes: self.departing.other_nodes().await,
            open_sessions: open.len(),
            running_turns: open.iter().filter(|(_, session)| session.state().busy).count(),
            connections: node.connections().len(),
            at_most_seconds: self.departing.longest().as_secs(),
            ended: false,
        };
        self.departing.begin();
        draining
    }

    /// Returns the conversation of a session. The server has recorded the request in the audit.
    async fn export(&self, request: &AdminRequest) -> Result<ExportedSession, Problem> {
        let id = request.params["session"].as_str().ok_or_else(|| AdminRequest::invalid("name a session"))?;
        let session = SessionId::from(id);
        let unknown = || Problem::not_found("there is no such session");
        let owner = self.users.owner_of(&session).await.map_err(|error| match error {
            StoreError::NotFound(_) => unknown(),
            error => unavailable(&error),
        })?;
        // The sessions of the command line are those of the account that administrators act as.
        if owner.is_some() && !may(&request.principal, owner.as_ref(), Operation::Read).is_allowed() {
            return Err(unknown());
        }
        let markdown = self.users.exported(owner.as_ref(), &session).await;
        let markdown = markdown.map_err(|error| unavailable(&format!("{error:#}")))?;
        let (tenant, user) = owner.map_or((None, None), |owner| (Some(owner.tenant), Some(owner.user)));
        Ok(ExportedSession { session_id: id.to_owned(), tenant, user, markdown })
    }

    fn sessions(&self) -> OpenSessions {
        let mut open = self.users.open_sessions();
        open.sort_by(|(_, a), (_, b)| (a.opened(), a.id()).cmp(&(b.opened(), b.id())));
        let sessions = open.into_iter().map(|(owner, session)| {
            let (tenant, user) = owner.map_or((None, None), |owner| (Some(owner.tenant), Some(owner.user)));
            OpenSession {
                session_id: session.id().to_string(),
                tenant,
                user,
                state: state(&session).to_owned(),
                clients: session.clients(),
                since: rfc3339(session.opened()),
            }
        });
        OpenSessions { sessions: sessions.collect() }
    }

    async fn nodes(&self, node: &Node) -> Result<NodeList, Problem> {
        let StoreAddress::Postgres(url) = &self.store else {
            let own = NodeRow {
                id: None,
                host: None,
                pid: std::process::id(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                address: None,
                draining: node.is_draining(),
                expires: None,
            };
            return Ok(NodeList { nodes: vec![own] });
        };
        let nodes = store::server::nodes(url).await.map_err(|error| unavailable(&error))?;
        let nodes = nodes.into_iter().map(|node| NodeRow {
            id: Some(node.id),
            host: Some(node.host),
            pid: node.pid,
            version: node.version,
            address: node.address,
            draining: node.is_draining,
            expires: Some(rfc3339(node.expires)),
        });
        Ok(NodeList { nodes: nodes.collect() })
    }
}

fn disconnect(node: &Node, params: &Value) -> Result<Disconnected, Problem> {
    let text = |name: &str| params[name].as_str().map(str::to_owned);
    let which = match (text("connection"), text("user")) {
        (Some(connection), None) => Selection::Connection(connection),
        (None, Some(user)) => Selection::User { tenant: text("tenant"), user },
        _ => return Err(AdminRequest::invalid("name a connection, or a user")),
    };
    Ok(Disconnected { disconnected: node.disconnect(&which).into_iter().map(row).collect() })
}

fn row(info: ConnectionInfo) -> ConnectionRow {
    let ConnectionInfo { id, principal, source, is_websocket, opened, is_attached } = info;
    ConnectionRow {
        connection: id,
        tenant: principal.tenant,
        user: principal.user,
        credential: principal.credential,
        transport: if is_websocket { "websocket" } else { "http" }.to_owned(),
        source: source.to_string(),
        since: rfc3339(opened.as_millisecond()),
        attached: is_attached,
    }
}

fn state(session: &SessionHandle) -> &'static str {
    match (session.is_asking(), session.state().busy) {
        (true, _) => "requires_action",
        (false, true) => "running",
        (false, false) => "idle",
    }
}

fn object(answer: impl Serialize) -> Result<Value, Problem> {
    serde_json::to_value(answer).map_err(|error| unavailable(&error))
}

fn unavailable(error: &dyn std::fmt::Display) -> Problem {
    Problem::unavailable(error.to_string())
}
