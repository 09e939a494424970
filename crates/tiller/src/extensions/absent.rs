//! The stub for builds without MCP servers, scripts and integrations: each use reports that the
//! build lacks them.

use crate::{
    args::{IntegrationsCommand, LuaCommand, McpCommand},
    environment::Environment,
    exit::Exit,
    options::Options,
    settings::Settings,
};
use agent::{
    CheckedItem, ClientServer, FolderTrust, Offer, SessionId, SessionScope, Severity, SourceNotice,
    ToolProvider, ToolProviders, ToolSource,
};
use anyhow::{Result, bail};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};
use system::AbsPath;

/// Whether this build has extensions.
pub(crate) const PRESENT: bool = false;

/// The message for each use of an extension.
const ABSENT: &str = "this build of tiller has no MCP servers, scripts and integrations; install one that has: \
                      cargo install --path crates/tiller --features full";

/// A capability that may be offered to a server. Only a build with extensions checks the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offered(String);

impl Offered {
    pub(crate) fn named(word: &str) -> Result<Self, String> {
        Ok(Self(word.to_owned()))
    }
}

/// Returns the name of a server unchanged.
pub(crate) fn server_name(name: &str) -> String {
    name.to_owned()
}

/// Returns no servers: this build starts none.
pub(crate) async fn project_servers(_: &FolderTrust, _: &AbsPath) -> (Vec<CheckedItem>, Vec<String>) {
    (Vec::new(), Vec::new())
}

/// Accepts every name, because this build knows no integrations.
pub(crate) fn is_integration_name(_name: &str) -> bool {
    true
}

/// The stub of the extensions' state.
pub(crate) struct Extensions;

impl Extensions {
    pub(crate) fn new(_settings: &Arc<Settings>, _options: &Options, _environment: &Environment) -> Self {
        Self
    }

    /// Returns a provider that has no tools and warns clients that send MCP servers.
    pub(crate) fn tool_providers(&self) -> ToolProviders {
        std::iter::once(Arc::new(Self) as Arc<dyn ToolProvider>).collect()
    }

    pub(crate) async fn refresh_servers(&self, _session: &SessionId) {}
}

impl ToolProvider for Extensions {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        Arc::new(UnsupportedServers(Mutex::new(names(&session.servers))))
    }
}

/// The client's servers that no warning has named yet.
struct UnsupportedServers(Mutex<Vec<String>>);

#[async_trait]
impl ToolSource for UnsupportedServers {
    fn grows(&self) -> bool {
        false
    }

    async fn offer(&self) -> Offer {
        let servers = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let notice = |servers: Vec<String>| SourceNotice {
            severity: Severity::Warning,
            title: format!("MCP servers are not used: {}", servers.join(", ")),
            description: Some(ABSENT.to_owned()),
        };
        let notices = (!servers.is_empty()).then(|| notice(servers)).into_iter().collect();
        Offer { tools: Vec::new(), notices }
    }

    fn set_servers(&self, servers: Vec<ClientServer>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names(&servers);
    }
}

fn names(servers: &[ClientServer]) -> Vec<String> {
    servers.iter().map(|server| server.name.clone()).collect()
}

pub(crate) async fn run_mcp(_: &Options, _: &Environment, _: &AbsPath, _: McpCommand) -> Result<Exit> {
    bail!(ABSENT)
}

pub(crate) async fn run_integrations(
    _: &Options,
    _: &Environment,
    _: &AbsPath,
    _: IntegrationsCommand,
) -> Result<Exit> {
    bail!(ABSENT)
}

pub(crate) async fn run_lua(_: &Options, _: &Environment, _: &AbsPath, _: LuaCommand) -> Result<Exit> {
    bail!(ABSENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::ClientServerKind;

    fn server(name: &str) -> ClientServer {
        let how = ClientServerKind::Stdio { command: "cat".to_owned(), args: Vec::new(), env: Vec::new() };
        ClientServer { name: name.to_owned(), how }
    }

    #[tokio::test]
    async fn a_client_that_sends_servers_is_warned_once_that_they_are_not_used() {
        let source = UnsupportedServers(Mutex::new(names(&[server("a"), server("b")])));
        let titles = |offer: Offer| offer.notices.into_iter().map(|notice| notice.title).collect::<Vec<_>>();
        assert_eq!(titles(source.offer().await), ["MCP servers are not used: a, b"]);
        assert_eq!(titles(source.offer().await), Vec::<String>::new());
        source.set_servers(vec![server("c")]);
        assert_eq!(titles(source.offer().await), ["MCP servers are not used: c"]);
    }

    #[test]
    fn a_missing_command_accepts_any_arguments() {
        use crate::args::{Cli, Command};
        use clap::Parser as _;
        for line in [
            "tiller mcp list --json",
            "tiller mcp",
            "tiller integrations plane list_projects --x=1",
            "tiller lua run f.lua",
        ] {
            let command = Cli::parse_from(line.split(' ')).command;
            let absent =
                matches!(command, Some(Command::Mcp(_) | Command::Integrations(_) | Command::Lua(_)));
            assert!(absent, "{line}: {command:?}");
        }
    }
}
