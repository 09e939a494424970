//! The interface of the program to MCP servers, scripts and integrations.
//!
//! Without the feature `extensions`, `extensions/absent.rs` is compiled in place of this file.

use crate::{
    args::{IntegrationsCommand, LuaCommand, McpCommand},
    environment::Environment,
    exit::Exit,
    integrations::{self, IntegrationFunctions, Integrations, NativeTools},
    mcp::{self, Pins, SessionFunctions, Values},
    options::Options,
    scripts::{self, Callable},
    settings::Settings,
    trust,
    wiring::local_system,
};
use ::integrations::integration_name;
use ::lua::{Functions, LuaTools};
use ::mcp::{McpOptions, McpProvider};
use agent::{CheckedItem, FolderTrust, SessionId, SessionScope, ToolProvider, ToolProviders};
use anyhow::Result;
use providers::HttpClients;
use std::sync::Arc;
use system::AbsPath;

pub(crate) use ::mcp::{Offered, server_name};

/// Whether this build has extensions.
pub(crate) const PRESENT: bool = true;

/// The state of the extensions that lives as long as the program.
pub(crate) struct Extensions {
    settings: Arc<Settings>,
    /// The options with which MCP servers are started.
    pub(crate) mcp: Arc<McpOptions>,
    /// Gives each session its MCP servers.
    pub(crate) servers: Arc<McpProvider>,
    pub(crate) integrations: Arc<Integrations>,
}

impl Extensions {
    /// Creates the state. Starts nothing and reads no file.
    pub(crate) fn new(settings: &Arc<Settings>, options: &Options, environment: &Environment) -> Self {
        let mcp = mcp_options(options, environment);
        let asked = settings.clone();
        let offers = move |session: &SessionId| {
            Some(asked.of_session(session)?.last_snapshot().options.offers.clone())
        };
        let servers = Arc::new(McpProvider::new(mcp.clone()).with_offers(Arc::new(offers)));
        let integrations = Integrations::new(options, environment);
        Self { settings: settings.clone(), mcp, servers, integrations }
    }

    /// The providers of tools other than the built-in ones. Starts nothing before there is a
    /// session.
    pub(crate) fn tool_providers(&self) -> ToolProviders {
        let (servers, integrations) = (self.servers.clone(), self.integrations.clone());
        let mut providers: Vec<Arc<dyn ToolProvider>> = vec![servers.clone()];
        let (state, settings) = (integrations.clone(), self.settings.clone());
        let functions = move |session: &SessionScope| -> Arc<dyn Functions> {
            let integrations = IntegrationFunctions::new(state.clone(), switches(&settings, session));
            Arc::new(SessionFunctions { integrations, servers: servers.clone(), session: session.id.clone() })
        };
        providers.push(Arc::new(LuaTools::with(functions)));
        providers.push(Arc::new(NativeTools { integrations, settings: self.settings.clone() }));
        providers.into_iter().collect()
    }

    /// Makes a session check again which of its servers are trusted.
    pub(crate) async fn refresh_servers(&self, session: &SessionId) {
        if let Some(servers) = self.servers.session_servers(session) {
            servers.reload().await;
        }
    }
}

/// Returns a function that reads a session's current settings for integrations.
pub(crate) fn switches(settings: &Arc<Settings>, session: &SessionScope) -> Arc<integrations::Now> {
    let (settings, session) = (settings.clone(), session.id.clone());
    // A session without a follower has ended.
    Arc::new(move || match settings.of_session(&session) {
        Some(follower) => Arc::new(follower.last_snapshot().options.switches()),
        None => Arc::default(),
    })
}

/// The options with which MCP servers are started.
pub(crate) fn mcp_options(options: &Options, environment: &Environment) -> Arc<McpOptions> {
    let system = local_system(options);
    let directories = &options.directories;
    let clients = HttpClients::default();
    let values = Arc::new(Values::new(environment.clone(), system.clone(), directories));
    Arc::new(McpOptions {
        grants: values.clone(),
        values,
        redactor: environment.redactor().clone(),
        pins: Arc::new(Pins::new(system.clone(), directories)),
        http: Arc::new(move |url| clients.client(url)),
        trust: trust::directory_trust(directories),
        user_file: directories.config.join("mcp.json"),
        offers: options.offers.clone(),
        variables: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system,
    })
}

/// Returns the MCP servers of the project in a directory, trusted or not, and the problems in
/// the files that describe them.
pub(crate) async fn project_servers(
    trust: &FolderTrust,
    directory: &AbsPath,
) -> (Vec<CheckedItem>, Vec<String>) {
    let (servers, problems) = ::mcp::project_servers(trust, directory).await;
    (servers.into_iter().map(|server| server.judged).collect(), problems)
}

/// Whether `name` is a valid name of an integration.
pub(crate) fn is_integration_name(name: &str) -> bool {
    integration_name(name).as_deref() == Some(name)
}

/// `tiller mcp`.
pub(crate) async fn run_mcp(
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    command: McpCommand,
) -> Result<Exit> {
    match command {
        McpCommand::Lua(script) => scripts::run(options, environment, cwd, Callable::Servers, script).await,
        command => mcp::run(options, environment, cwd, command).await,
    }
}

/// `tiller integrations`.
pub(crate) async fn run_integrations(
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    command: IntegrationsCommand,
) -> Result<Exit> {
    match command {
        IntegrationsCommand::Lua(script) => {
            scripts::run(options, environment, cwd, Callable::AllFunctions, script).await
        }
        command => integrations::run(options, environment, cwd, command).await,
    }
}

/// `tiller lua`.
pub(crate) async fn run_lua(
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    LuaCommand::Run(script): LuaCommand,
) -> Result<Exit> {
    scripts::run(options, environment, cwd, Callable::AllFunctions, script).await
}
