//! MCP servers, scripts and integrations, as far as the rest of the program must know of them. Built without the feature `extensions` the program has
//! `extensions/absent.rs` in place of this.

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
use agent::{FolderTrust, Judged, SessionId, SessionScope, ToolProvider, ToolProviders};
use anyhow::Result;
use providers::HttpClients;
use std::sync::Arc;
use system::AbsPath;

pub(crate) use ::mcp::{Offered, server_name};

/// Whether this build has them.
pub(crate) const PRESENT: bool = true;

/// What they need that lives as long as the program does.
pub(crate) struct Extensions {
    settings: Arc<Settings>,
    /// What servers are started with.
    pub(crate) mcp: Arc<McpOptions>,
    /// What gives sessions their servers.
    pub(crate) servers: Arc<McpProvider>,
    pub(crate) integrations: Arc<Integrations>,
}

impl Extensions {
    /// Starts nothing and reads no file.
    pub(crate) fn new(settings: &Arc<Settings>, options: &Options, environment: &Environment) -> Self {
        let mcp = mcp_options(options, environment);
        let asked = settings.clone();
        let offers =
            move |session: &SessionId| Some(asked.of_session(session)?.seen().options.offers.clone());
        let servers = Arc::new(McpProvider::new(mcp.clone()).with_offers(Arc::new(offers)));
        let integrations = Integrations::new(options, environment);
        Self { settings: settings.clone(), mcp, servers, integrations }
    }

    /// What gives sessions tools beside the built-in ones. Starts nothing before there is a session.
    pub(crate) fn tool_providers(&self) -> ToolProviders {
        let (servers, integrations) = (self.servers.clone(), self.integrations.clone());
        let mut providers: Vec<Arc<dyn ToolProvider>> = vec![servers.clone()];
        let (desk, settings) = (integrations.clone(), self.settings.clone());
        let functions = move |session: &SessionScope| -> Arc<dyn Functions> {
            let integrations = IntegrationFunctions::new(desk.clone(), switches(&settings, session));
            Arc::new(SessionFunctions { integrations, servers: servers.clone(), session: session.id.clone() })
        };
        providers.push(Arc::new(LuaTools::with(functions)));
        providers.push(Arc::new(NativeTools { desk: integrations, settings: self.settings.clone() }));
        providers.into_iter().collect()
    }

    /// Has a session look at what is trusted of its servers.
    pub(crate) async fn look_again(&self, session: &SessionId) {
        if let Some(servers) = self.servers.of_session(session) {
            servers.look_again().await;
        }
    }
}

/// What a session's settings say of integrations, whenever that is asked.
pub(crate) fn switches(settings: &Arc<Settings>, session: &SessionScope) -> Arc<integrations::Now> {
    let (settings, session) = (settings.clone(), session.id.clone());
    // A session that nobody follows any more has ended.
    Arc::new(move || match settings.of_session(&session) {
        Some(follower) => Arc::new(follower.seen().options.switches()),
        None => Arc::default(),
    })
}

/// What MCP servers are started with.
pub(crate) fn mcp_options(options: &Options, environment: &Environment) -> Arc<McpOptions> {
    let system = local_system(options);
    let folders = &options.folders;
    let clients = HttpClients::default();
    let values = Arc::new(Values::new(environment.clone(), system.clone(), folders));
    Arc::new(McpOptions {
        grants: values.clone(),
        values,
        redactor: environment.redactor().clone(),
        pins: Arc::new(Pins::new(system.clone(), folders)),
        http: Arc::new(move |url| clients.client(url)),
        trust: trust::folder_trust(folders),
        user_file: folders.config.join("mcp.json"),
        offers: options.offers.clone(),
        variables: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system,
    })
}

/// The servers of the project in a folder, trusted or not, and what is wrong with the files that describe them.
pub(crate) async fn project_servers(trust: &FolderTrust, folder: &AbsPath) -> (Vec<Judged>, Vec<String>) {
    let (servers, problems) = ::mcp::of_project(trust, folder).await;
    (servers.into_iter().map(|server| server.judged).collect(), problems)
}

/// Whether that is how an integration's name is written.
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
            scripts::run(options, environment, cwd, Callable::Everything, script).await
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
    scripts::run(options, environment, cwd, Callable::Everything, script).await
}
