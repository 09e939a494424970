//! The commands of an administrator: `tiller serve status` and the others.

mod audit;
mod check;
pub(super) mod rows;

pub(crate) use check::{Checked, ServerChecks};
pub(crate) use rows::{
    AuditTrail, Disconnected, Draining, ExportedSession, NodeList, OpenSessions, ServerStatus,
};

pub(crate) use check::run as check;

use super::listeners::own_socket;
use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::{AdminSocket, ServeCommand},
    environment::Environment,
    exit::Exit,
    limits::DRAIN_STEP,
    options::Directories,
    session_stores::Addresses,
    table::Table,
};
use ::serve::admin::{AskError, ask};
use anyhow::Result;
use jiff::Timestamp;
use rows::ConnectionRow;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{fmt::Write as _, path::PathBuf, sync::Arc, time::Duration};
use system::{AbsPath, System};

/// What the commands work with.
pub(crate) struct AdminPlace<'a> {
    pub(crate) console: &'a Console,
    pub(crate) environment: &'a Environment,
    pub(crate) directories: &'a Directories,
    pub(crate) system: Arc<dyn System>,
    pub(crate) cwd: &'a AbsPath,
    /// The places that the settings name.
    pub(crate) listen: &'a [String],
}

/// Runs a command, other than the check.
pub(crate) async fn run(place: AdminPlace<'_>, command: ServeCommand) -> Result<Exit> {
    match command {
        ServeCommand::Status(socket) => place.status(&socket).await,
        ServeCommand::Sessions { user, socket } => place.sessions(user.as_deref(), &socket).await,
        ServeCommand::Export { session, socket } => place.export(&session, &socket).await,
        ServeCommand::Disconnect { connection, user, tenant, socket } => {
            let params = match (connection, user, tenant) {
                (Some(connection), ..) => json!({ "connection": connection }),
                (None, user, Some(tenant)) => json!({ "user": user, "tenant": tenant }),
                (None, user, None) => json!({ "user": user }),
            };
            place.disconnect(&params, &socket).await
        }
        ServeCommand::Drain { wait, socket } => place.drain(wait, &socket).await,
        ServeCommand::Nodes(socket) => place.nodes(&socket).await,
        ServeCommand::Audit { since, user, store } => audit::show(&place, since, user, store).await,
        ServeCommand::Check(_) => unreachable!("the check needs the settings, and runs on its own"),
    }
}

impl AdminPlace<'_> {
    fn addresses(&self) -> Addresses<'_> {
        let Self { environment, directories, system, cwd, .. } = self;
        Addresses { environment, directories, system: system.clone(), cwd }
    }

    /// Returns the socket of the server: the given one, the one of the settings, or the usual one.
    fn socket(&self, given: &AdminSocket) -> PathBuf {
        if let Some(path) = &given.socket {
            return self.cwd.join(path.to_string_lossy()).as_std().to_owned();
        }
        match self.listen.iter().find_map(|place| place.strip_prefix("unix:")) {
            Some(path) => path.into(),
            None => own_socket(self.environment, self.directories),
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        socket: &AdminSocket,
        command: &str,
        params: Option<&Value>,
    ) -> Result<T> {
        let answer = ask(&self.socket(socket), command, params).await.map_err(failure)?;
        Ok(serde_json::from_value(answer).map_err(|error| failure(AskError::BadAnswer(error.to_string())))?)
    }

    async fn status(&self, socket: &AdminSocket) -> Result<Exit> {
        let status: ServerStatus = self.ask(socket, "status", None).await?;
        let text = self.status_text(&status);
        self.console.print(Answer::new(status, text))
    }

    fn status_text(&self, status: &ServerStatus) -> String {
        let mut text = format!(
            "tiller {}, process {}, started {}\n",
            status.version,
            status.pid,
            self.moment(&status.started)
        );
        for listener in &status.listeners {
            let _ = writeln!(text, "  listens on {listener}");
        }
        let websockets = status.connections.iter().filter(|row| row.transport == "websocket").count();
        let _ = writeln!(
            text,
            "  {} connections by WebSocket, {} by HTTP\n  {} open sessions, {} running turns\n  store {}",
            websockets,
            status.connections.len() - websockets,
            status.load.open_sessions,
            status.load.running_turns,
            status.store
        );
        if status.draining {
            text.push_str("  it stops, and takes no new connections\n");
        }
        for token in &status.expiring_tokens {
            let _ = writeln!(
                text,
                "  the token {} ({}) of {} expires {}",
                token.id,
                token.name,
                token.user,
                self.moment(&token.expires)
            );
        }
        if !status.connections.is_empty() {
            text.push('\n');
            text.push_str(&self.connections(&status.connections));
        }
        text
    }

    fn connections(&self, rows: &[ConnectionRow]) -> String {
        let mut table = Table::new(["CONNECTION", "USER", "TRANSPORT", "FROM", "SINCE", "SOCKET"]);
        for row in rows {
            table.row([
                row.connection.clone(),
                user(Some(&row.tenant), &row.user),
                row.transport.clone(),
                row.source.clone(),
                self.moment(&row.since),
                if row.attached { "yes" } else { "no" }.to_owned(),
            ]);
        }
        table.text()
    }

    async fn sessions(&self, only: Option<&str>, socket: &AdminSocket) -> Result<Exit> {
        let mut open: OpenSessions = self.ask(socket, "sessions", None).await?;
        if let Some(user) = only {
            open.sessions.retain(|session| session.user.as_deref() == Some(user));
        }
        let mut table = Table::new(["SESSION", "USER", "STATE", "CLIENTS", "SINCE"]);
        for session in &open.sessions {
            let user = session.user.as_deref().map_or_else(
                || "(who runs the server)".to_owned(),
                |name| user(session.tenant.as_deref(), name),
            );
            table.row([
                session.session_id.clone(),
                user,
                session.state.clone(),
                session.clients.to_string(),
                self.moment(&session.since),
            ]);
        }
        let text = match open.sessions.is_empty() {
            true => "No session is open.\n".to_owned(),
            false => table.text(),
        };
        self.console.print(Answer::new(open, text))
    }

    async fn export(&self, session: &str, socket: &AdminSocket) -> Result<Exit> {
        let params = json!({ "session": session });
        let exported: ExportedSession = self.ask(socket, "export", Some(&params)).await?;
        let text = exported.markdown.clone();
        self.console.print(Answer::new(exported, text))
    }

    async fn disconnect(&self, params: &Value, socket: &AdminSocket) -> Result<Exit> {
        let closed: Disconnected = self.ask(socket, "disconnect", Some(params)).await?;
        if closed.disconnected.is_empty() {
            let what = match params["connection"].as_str() {
                Some(id) => format!("no connection has the id {id:?}"),
                None => format!("{} has no connection", params["user"].as_str().unwrap_or_default()),
            };
            return Err(Failure::new(Kind::NotFound, what).next("tiller serve status").into());
        }
        let lines = closed
            .disconnected
            .iter()
            .map(|row| format!("{} of {} is closed\n", row.connection, user(Some(&row.tenant), &row.user)));
        let text = lines.collect::<String>();
        self.console.print(Answer::new(closed, text))
    }

    async fn drain(&self, wait: bool, socket: &AdminSocket) -> Result<Exit> {
        let mut draining: Draining = self.ask(socket, "drain", Some(&json!({}))).await?;
        if wait {
            let place = self.socket(socket);
            let ended = async {
                // Another server may listen at the same place by then.
                while ask(&place, "status", None).await.is_ok_and(|status| status["pid"] == draining.pid) {
                    tokio::time::sleep(DRAIN_STEP).await;
                }
            };
            let most = Duration::from_secs(draining.at_most_seconds);
            draining.ended = tokio::time::timeout(most, ended).await.is_ok();
        }
        let sessions = format!(
            "{} connections, {} open sessions and {} running turns",
            draining.connections, draining.open_sessions, draining.running_turns
        );
        let turns = match draining.other_nodes {
            0 => "there is no other node: running turns are cancelled".to_owned(),
            1 => "its sessions go on at 1 other node".to_owned(),
            nodes => format!("its sessions go on at {nodes} other nodes"),
        };
        let end = match (draining.ended, wait) {
            (true, _) => "it has ended".to_owned(),
            (false, true) => "it has not ended in time".to_owned(),
            (false, false) => format!("it ends within {} s", draining.at_most_seconds),
        };
        let text = format!("process {} had {sessions}\n{turns}\n{end}\n", draining.pid);
        let is_late = wait && !draining.ended;
        let exit = self.console.print(Answer::new(draining, text))?;
        Ok(if is_late { Exit::Error } else { exit })
    }

    async fn nodes(&self, socket: &AdminSocket) -> Result<Exit> {
        let list: NodeList = self.ask(socket, "nodes", None).await?;
        let mut table = Table::new(["PROCESS", "HOST", "VERSION", "ADDRESS", "STATE"]);
        for node in &list.nodes {
            table.row([
                node.pid.to_string(),
                node.host.clone().unwrap_or_else(|| "this machine".to_owned()),
                node.version.clone(),
                node.address.clone().unwrap_or_else(|| "none".to_owned()),
                if node.draining { "draining" } else { "alive" }.to_owned(),
            ]);
        }
        let text = table.text();
        self.console.print(Answer::new(list, text))
    }

    /// Returns a time of an answer for people.
    fn moment(&self, time: &str) -> String {
        let read = time.parse::<Timestamp>();
        read.map_or_else(|_| time.to_owned(), |time| self.console.moment(time.as_millisecond()))
    }
}

/// Returns a user with the tenant, where there are several.
fn user(tenant: Option<&str>, name: &str) -> String {
    match tenant {
        None | Some(agent::Principal::ONLY_TENANT) => name.to_owned(),
        Some(tenant) => format!("{tenant}/{name}"),
    }
}

/// Returns the failure of a command from the server's.
fn failure(error: AskError) -> Failure {
    let text = error.to_string();
    match error {
        AskError::Unreachable { .. } => {
            let failure = Failure { exit: Exit::Unreachable, ..Failure::new(Kind::Network, text) };
            failure.hint("a server of another user or place needs --socket PATH").next("tiller serve")
        }
        AskError::NotAllowed(_) => Failure { exit: Exit::NotAllowed, ..Failure::new(Kind::Denied, text) },
        AskError::Refused(_) => Failure::new(Kind::Provider, text),
        AskError::BadAnswer(_) => Failure::new(Kind::Internal, text)
            .hint("the server may be of another version; restart it after an update"),
    }
}
