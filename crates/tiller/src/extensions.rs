//! MCP servers, scripts, integrations, the web and skills, as the sessions of one program use them.

use crate::{
    environment::Environment,
    integrations::{IntegrationFunctions, Integrations, NativeTools, switches},
    mcp::{SessionFunctions, mcp_options},
    options::Options,
    settings::Settings,
    trust, web,
};
use ::integrations::Web;
use ::lua::{Functions, LuaTools};
use ::mcp::{McpOptions, McpProvider};
use agent::{SessionId, SessionScope, SkillProvider, ToolProvider, ToolProviders};
use std::sync::Arc;

/// The state of the extensions that lives as long as the program.
pub(crate) struct Extensions {
    settings: Arc<Settings>,
    /// The options with which MCP servers are started.
    pub(crate) mcp: Arc<McpOptions>,
    /// Gives each session its MCP servers.
    pub(crate) servers: Arc<McpProvider>,
    pub(crate) integrations: Arc<Integrations>,
    /// Gives each session its skills and commands from files.
    skills: Arc<SkillProvider>,
    web: Arc<Web>,
}

impl Extensions {
    /// Creates the state. Starts nothing and reads no file.
    pub(crate) fn new(settings: &Arc<Settings>, options: &Options, environment: &Environment) -> Self {
        let mcp = mcp_options(options, environment);
        let asked = settings.clone();
        let offers = move |session: &SessionId| {
            Some(asked.of_session(session)?.last_snapshot().options.permissions.offers.clone())
        };
        let servers = Arc::new(McpProvider::new(mcp.clone()).with_offers(Arc::new(offers)));
        let integrations = Integrations::new(options, environment);
        let skills = Arc::new(SkillProvider {
            system: options.directories.system(),
            user: trust::user_places(&options.directories),
            trust: trust::directory_trust(&options.directories),
        });
        let web = web::state(options, environment);
        Self { settings: settings.clone(), mcp, servers, integrations, skills, web }
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
        providers.push(Arc::new(web::tools(self.web.clone(), self.settings.clone())));
        providers.push(Arc::new(NativeTools { integrations, settings: self.settings.clone() }));
        // The last source: the other sources' commands keep their names.
        providers.push(self.skills.clone());
        providers.into_iter().collect()
    }

    /// Makes a session check again which of its servers are trusted.
    pub(crate) async fn refresh_servers(&self, session: &SessionId) {
        if let Some(servers) = self.servers.session_servers(session) {
            servers.reload().await;
        }
    }
}
