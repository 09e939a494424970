//! What the commands of an administrator answer. The running server sends the same objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of the running server.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ServerStatus {
    /// Its version.
    pub(in crate::server) version: String,
    /// Its process.
    pub(in crate::server) pid: u32,
    /// When it was started, as RFC 3339.
    pub(in crate::server) started: String,
    /// How long it has been running, in seconds.
    pub(in crate::server) uptime_seconds: u64,
    /// Where it listens.
    pub(in crate::server) listeners: Vec<String>,
    /// The open connections, oldest first.
    pub(in crate::server) connections: Vec<ConnectionRow>,
    /// Sessions and turns.
    pub(in crate::server) load: Load,
    /// The store of sessions.
    pub(in crate::server) store: String,
    /// Whether it refuses new connections because it stops.
    pub(in crate::server) draining: bool,
    /// Valid tokens that expire within 7 days.
    pub(in crate::server) expiring_tokens: Vec<ExpiringToken>,
}

/// How many sessions and turns a server has.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Load {
    /// The number of users who have connected since it was started.
    pub(in crate::server) users: usize,
    /// The number of open sessions.
    pub(in crate::server) open_sessions: usize,
    /// The number of running turns.
    pub(in crate::server) running_turns: usize,
}

/// An open connection.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ConnectionRow {
    /// Its id.
    pub(in crate::server) connection: String,
    /// The tenant of its user.
    pub(in crate::server) tenant: String,
    /// The user who opened it.
    pub(in crate::server) user: String,
    /// The id of the credential.
    pub(in crate::server) credential: String,
    /// How it is carried: `websocket` or `http`.
    pub(in crate::server) transport: String,
    /// Where its first socket came from.
    pub(in crate::server) source: String,
    /// When it was opened, as RFC 3339.
    pub(in crate::server) since: String,
    /// Whether it has a socket now; without one it waits to be resumed.
    pub(in crate::server) attached: bool,
}

/// A token that expires soon.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExpiringToken {
    /// Its id.
    pub(in crate::server) id: String,
    /// What it is called.
    pub(in crate::server) name: String,
    /// The user that it authenticates.
    pub(in crate::server) user: String,
    /// When it expires, as RFC 3339.
    pub(in crate::server) expires: String,
}

/// The open sessions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OpenSessions {
    /// The sessions, oldest first.
    pub(in crate::server) sessions: Vec<OpenSession>,
}

/// An open session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OpenSession {
    /// Its id.
    pub(in crate::server) session_id: String,
    /// The tenant of its user; null for the user who runs the server.
    pub(in crate::server) tenant: Option<String>,
    /// Its user; null for the user who runs the server.
    pub(in crate::server) user: Option<String>,
    /// `running`, `requires_action` while it waits for an answer of its user, or `idle`.
    pub(in crate::server) state: String,
    /// The number of clients.
    pub(in crate::server) clients: usize,
    /// When it was opened in this process, as RFC 3339.
    pub(in crate::server) since: String,
}

/// The connections that were closed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Disconnected {
    /// The connections.
    pub(in crate::server) disconnected: Vec<ConnectionRow>,
}

/// A session of a user, as an administrator reads it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExportedSession {
    /// Its id.
    pub(in crate::server) session_id: String,
    /// The tenant of its user; null if it belongs to the account that runs the server.
    pub(in crate::server) tenant: Option<String>,
    /// Its user.
    pub(in crate::server) user: Option<String>,
    /// The conversation as Markdown, without secrets.
    pub(in crate::server) markdown: String,
}

/// What a server that stops does with its work.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Draining {
    /// Its process.
    pub(in crate::server) pid: u32,
    /// The number of other nodes that its sessions go on at; without any, running turns are
    /// cancelled.
    pub(in crate::server) other_nodes: usize,
    /// The number of sessions that were open.
    pub(in crate::server) open_sessions: usize,
    /// The number of turns that ran.
    pub(in crate::server) running_turns: usize,
    /// The number of connections that were open.
    pub(in crate::server) connections: usize,
    /// The longest time until the server ends, in seconds.
    pub(in crate::server) at_most_seconds: u64,
    /// Whether the server has ended.
    pub(in crate::server) ended: bool,
}

/// The processes that share the store.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeList {
    /// The processes, oldest first.
    pub(in crate::server) nodes: Vec<NodeRow>,
}

/// A process that shares the store.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NodeRow {
    /// Its id in the store; null where the store is a file.
    pub(in crate::server) id: Option<String>,
    /// The machine that it runs on; null where that is this one.
    pub(in crate::server) host: Option<String>,
    /// Its process.
    pub(in crate::server) pid: u32,
    /// Its version.
    pub(in crate::server) version: String,
    /// Where other processes reach it; null if it serves none.
    pub(in crate::server) address: Option<String>,
    /// Whether it gives its sessions away.
    pub(in crate::server) draining: bool,
    /// Until when it counts as alive without a further sign, as RFC 3339; null in a file.
    pub(in crate::server) expires: Option<String>,
}

/// The audit since a time.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditTrail {
    /// The records, oldest first.
    pub(in crate::server) records: Vec<AuditRow>,
    /// The number of lines that cannot be read.
    pub(in crate::server) unreadable: usize,
    /// Whether there are more; ask again with the time of the last one.
    pub(in crate::server) has_more: bool,
}

/// A record of the audit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditRow {
    /// When it happened, as RFC 3339.
    pub(in crate::server) at: String,
    /// What happened.
    pub(in crate::server) what: &'static str,
    /// The tenant of the user who did it.
    pub(in crate::server) tenant: Option<String>,
    /// The user who did it.
    pub(in crate::server) user: Option<String>,
    /// The id of the credential.
    pub(in crate::server) credential: Option<String>,
    /// Where the request came from.
    pub(in crate::server) source: Option<String>,
    /// The session that it is about.
    pub(in crate::server) session: Option<String>,
    /// The id of the request.
    pub(in crate::server) request: Option<String>,
    /// What it is about beside.
    pub(in crate::server) about: Option<String>,
}
