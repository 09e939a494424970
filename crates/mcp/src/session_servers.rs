//! Access to the servers of an open session from outside its model.

use crate::{
    config::ServerConfig,
    connection::Client,
    direct_query::DirectQuery,
    files::FoundServers,
    hub::Hub,
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
pub struct ReadyServer {
    /// The connection.
    pub client: Arc<Client>,
    /// The server's names of its usable tools, without those whose changed definition awaits
    /// approval.
    pub tools: Vec<String>,
}

impl SessionServers {
    /// Reads the files again, so that servers added since are started, for the model as well.
    /// Returns what the files contain.
    pub async fn reload(&self) -> FoundServers {
        self.0.reload().await
    }

    /// Returns the servers that the client sent.
    pub fn client_servers(&self) -> Vec<ServerConfig> {
        self.0.client_servers()
    }

    /// Returns a tool that makes an inquiry, and its arguments. The error is text for people.
    pub async fn query_tool(
        &self,
        server: &str,
        direct_query: DirectQuery,
    ) -> Result<(Arc<dyn AnyTool>, Value), String> {
        let hub = &self.0;
        hub.settled().await;
        let name = server_name(server);
        let found = hub.servers().into_iter().find(|known| known.config.name == name);
        let found = found.ok_or_else(|| format!("Unknown MCP server: {server}"))?;
        let redactor = hub.options.redactor.clone();
        match found.ready(RESTART_WAIT).await {
            Ok(client) => Ok(direct_query.tool(&name, client, redactor)),
            Err(why) => Err(redactor.redact(&format!("MCP server '{name}': {why}"))),
        }
    }

    /// Returns the servers' own names of their available tools, by the names that models use.
    pub fn server_tool_names(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for server in self.0.servers() {
            if let State::Up(connected) = server.state() {
                names.extend(connected.tools.iter().map(|tool| (tool.function.clone(), tool.tool.clone())));
            }
        }
        names
    }

    /// Returns why a server of the session has no tools now; `None` if it is connected, or unknown.
    pub fn unavailable_reason(&self, name: &str) -> Option<String> {
        let name = server_name(name);
        let server = self.0.servers().into_iter().find(|server| server.config.name == name)?;
        let why = server.state().connected().err()?;
        Some(self.0.options.redactor.redact(&format!("MCP server '{name}': {why}")))
    }

    /// Returns a server once it is connected; `None` if the session does not run it. The error is
    /// text for people.
    pub async fn ready(&self, config: &ServerConfig) -> Option<Result<ReadyServer, String>> {
        let server = self.0.servers().into_iter().find(|server| server.config == *config)?;
        Some(ready(&server).await)
    }
}

async fn ready(server: &Server) -> Result<ReadyServer, String> {
    let client = server.ready(server.config.timeout.unwrap_or(CONNECT)).await?;
    let State::Up(connected) = server.state() else {
        return Err("it is being restarted".to_owned());
    };
    let tools = connected.tools.iter().map(|tool| tool.tool.clone()).collect();
    Ok(ReadyServer { client, tools })
}
