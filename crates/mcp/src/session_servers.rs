//! Access to the servers of an open session from outside its model.

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

/// The servers of an open session. The model uses the same connections, so both share a server's
/// state.
#[derive(Clone)]
pub struct SessionServers(pub(crate) Arc<Hub>);

/// A connected server of a session.
pub struct Up {
    /// The connection.
    pub client: Arc<Client>,
    /// The server's names of its usable tools, without those whose changed definition awaits
    /// approval.
    pub tools: Vec<String>,
}

impl SessionServers {
    /// Reads the files again, so that servers added since are started, for the model as well.
    /// Returns what the files contain.
    pub async fn look_again(&self) -> Found {
        self.0.look_again().await
    }

    /// Returns the servers that the client sent.
    pub fn of_client(&self) -> Vec<ServerConfig> {
        self.0.of_client()
    }

    /// Returns a tool that makes an inquiry, and its arguments. The error is text for people.
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

    /// Returns the servers' own names of their available tools, by the names that models use.
    pub fn own_names(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for server in self.0.servers() {
            if let State::Up(live) = server.state() {
                names.extend(live.tools.iter().map(|tool| (tool.function.clone(), tool.tool.clone())));
            }
        }
        names
    }

    /// Returns why a server of the session has no tools now; `None` if it is connected, or unknown.
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

    /// Returns a server once it is connected; `None` if the session does not run it. The error is
    /// text for people.
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
