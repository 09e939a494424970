//! The servers of an open session, for those that call them past its model.

use crate::{
    config::ServerConfig,
    connection::Client,
    files::Found,
    hub::Hub,
    inquiry::Inquiry,
    limits::{CONNECT, RESTART_WAIT},
    names::server_name,
    server::{Server, State},
};
use agent::AnyTool;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The servers of an open session. Its model calls the same ones: what a server remembers, it remembers for both.
#[derive(Clone)]
pub struct SessionServers(pub(crate) Arc<Hub>);

/// A server of a session that is there.
pub struct Up {
    /// The connection.
    pub client: Arc<Client>,
    /// What the server calls those of its tools that may be used: one that says something else of itself than it did waits for approval.
    pub tools: Vec<String>,
}

impl SessionServers {
    /// Looks at the files again, so that a server which was added since is started, for the model too. Returns what they say.
    pub async fn look_again(&self) -> Found {
        self.0.look_again().await
    }

    /// The servers that the client gave.
    pub fn of_client(&self) -> Vec<ServerConfig> {
        self.0.of_client()
    }

    /// What asks a server for what it has beside tools, and with which arguments. An error says why it cannot be asked.
    pub async fn inquire(&self, server: &str, inquiry: Inquiry) -> Result<(Arc<dyn AnyTool>, Value), String> {
        let hub = &self.0;
        hub.settled().await;
        let name = server_name(server);
        let found = hub.servers().into_iter().find(|known| known.config.name == name);
        let found = found.ok_or_else(|| format!("Unknown MCP server: {server}"))?;
        let redactor = hub.options.redactor.clone();
        match found.ready(RESTART_WAIT).await {
            Ok(client) => Ok(inquiry.tool(&name, client, redactor)),
            Err(why) => Err(redactor.redact(&format!("MCP server '{name}': {why}"))),
        }
    }

    /// What servers call those of their tools that are there, by the names that models know.
    pub fn own_names(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for server in self.0.servers() {
            if let State::Up(live) = server.state() {
                names.extend(live.tools.iter().map(|tool| (tool.function.clone(), tool.tool.clone())));
            }
        }
        names
    }

    /// Why a server of the session has no tools now; `None` where it has, or where there is none of
    /// that name.
    pub fn why_not(&self, name: &str) -> Option<String> {
        let name = server_name(name);
        let server = self.0.servers().into_iter().find(|server| server.config.name == name)?;
        let why = match server.state() {
            State::Up(_) => return None,
            State::Starting => "it is still starting; try again later".to_owned(),
            State::Trying { why, .. } => format!("it is being started again: {why}"),
            State::Down(why) => format!("it is not there: {why}"),
        };
        Some(self.0.options.redactor.redact(&format!("MCP server '{name}': {why}")))
    }

    /// A server, once it is there; `None` when the session does not run it. An error says why it is not there.
    pub async fn up(&self, config: &ServerConfig) -> Option<Result<Up, String>> {
        let server = self.0.servers().into_iter().find(|server| server.config == *config)?;
        Some(up(&server).await)
    }
}

async fn up(server: &Server) -> Result<Up, String> {
    let client = server.ready(server.config.timeout.unwrap_or(CONNECT)).await?;
    let State::Up(live) = server.state() else { return Err("it is being started again".to_owned()) };
    let tools = live.tools.iter().map(|tool| tool.tool.clone()).collect();
    Ok(Up { client, tools })
}
