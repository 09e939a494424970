//! The implementation of the native layer's requests: settings, servers, scripts, reports, exports.
//!
//! Each request uses the current settings of its session's directory and the session's modes.

#[cfg(feature = "extensions")]
mod integrations;
#[cfg(feature = "extensions")]
mod lua;
#[cfg(feature = "extensions")]
mod mcp;
mod settings;
mod trust;

#[cfg(feature = "extensions")]
use crate::mcp::Direct;
use crate::{
    doctor, environment::Environment, extensions::Extensions, options::Options, redacting::Redacting,
    sessions::transfer, settings::Settings,
};
#[cfg(feature = "extensions")]
use acp::native::{
    AddServer, CallFunction, CallTool, ConfigureIntegration, ExecuteLua, ListFunctions, ListTools, SetSecret,
};
use acp::native::{ConfigureProvider, GiveTrust, NativeServices, Scene, ServiceError, SetSetting};
use agent::{Runtime, SessionId};
use async_trait::async_trait;
use providers::Catalog;
use serde_json::Value;
use std::sync::Arc;

/// The services of one run.
pub(crate) struct Services {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) settings: Arc<Settings>,
    /// The options at the start of the program, for its working directory.
    pub(crate) options: Options,
    /// The settings that were ignored, with the reasons.
    pub(crate) notices: Vec<String>,
    /// Why the settings files could not be used at the start.
    pub(crate) problem: Option<String>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) environment: Environment,
    pub(crate) extensions: Extensions,
    /// Serialises changes of files.
    pub(crate) writing: tokio::sync::Mutex<()>,
}

#[async_trait]
impl NativeServices for Services {
    async fn set_setting(&self, on: &Scene, set: SetSetting) -> Result<Value, ServiceError> {
        settings::set(self, on, set).await
    }

    async fn configure_provider(&self, on: &Scene, set: ConfigureProvider) -> Result<Value, ServiceError> {
        settings::configure_provider(self, on, set).await
    }

    async fn list_trust(&self, on: &Scene) -> Result<Value, ServiceError> {
        Ok(trust::list(self, on).await)
    }

    async fn give_trust(&self, on: &Scene, items: Vec<GiveTrust>) -> Result<Value, ServiceError> {
        trust::give(self, on, items).await
    }

    async fn take_trust(&self, on: &Scene, ids: Option<Vec<String>>) -> Result<Value, ServiceError> {
        trust::take(self, on, ids).await
    }

    #[cfg(feature = "extensions")]
    async fn list_functions(&self, on: &Scene, query: ListFunctions) -> Result<Value, ServiceError> {
        integrations::list(self, on, query).await
    }

    #[cfg(feature = "extensions")]
    async fn describe_function(&self, on: &Scene, function: String) -> Result<Value, ServiceError> {
        integrations::describe(self, on, &function).await
    }

    #[cfg(feature = "extensions")]
    async fn call_function(&self, on: &Scene, call: CallFunction) -> Result<Value, ServiceError> {
        integrations::call(self, on, call).await
    }

    #[cfg(feature = "extensions")]
    async fn configure_integration(
        &self,
        on: &Scene,
        set: ConfigureIntegration,
    ) -> Result<Value, ServiceError> {
        integrations::configure(self, on, set).await
    }

    #[cfg(feature = "extensions")]
    async fn list_servers(&self, on: &Scene, force: bool) -> Result<Value, ServiceError> {
        mcp::list_servers(self, on, force).await
    }

    #[cfg(feature = "extensions")]
    async fn list_tools(&self, on: &Scene, query: ListTools) -> Result<Value, ServiceError> {
        mcp::list_tools(self, on, query).await
    }

    #[cfg(feature = "extensions")]
    async fn tool_schema(&self, on: &Scene, function: String, force: bool) -> Result<Value, ServiceError> {
        mcp::tool_schema(self, on, &function, force).await
    }

    #[cfg(feature = "extensions")]
    async fn call_tool(&self, on: &Scene, call: CallTool) -> Result<Value, ServiceError> {
        Ok(mcp::call_tool(self, on, call).await)
    }

    #[cfg(feature = "extensions")]
    async fn add_server(&self, on: &Scene, add: AddServer) -> Result<Value, ServiceError> {
        mcp::add_server(self, on, add).await
    }

    #[cfg(feature = "extensions")]
    async fn set_secret(&self, on: &Scene, set: SetSecret) -> Result<Value, ServiceError> {
        mcp::set_secret(self, on, set).await
    }

    #[cfg(feature = "extensions")]
    async fn execute_lua(&self, on: &Scene, run: ExecuteLua) -> Result<Value, ServiceError> {
        lua::execute(self, on, run).await
    }

    async fn export(&self, session: &SessionId, format: &str) -> Result<String, ServiceError> {
        let mut text = Vec::new();
        {
            let mut out = Redacting::new(&mut text, self.environment.redactor().clone());
            let exported = match format {
                "markdown" => transfer::as_markdown(&self.runtime, session, &mut out).await,
                _ => transfer::as_json(&self.runtime, session, self.environment.redactor(), &mut out).await,
            };
            exported.map_err(|error| ServiceError::Failed(format!("{error:#}")))?;
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    async fn doctor(&self) -> Result<Value, ServiceError> {
        let subject = doctor::Subject {
            options: &self.options,
            catalog: &self.catalog,
            notices: &self.notices,
            settings_problem: self.problem.as_deref(),
        };
        Ok(doctor::report(subject).await)
    }
}

impl Services {
    /// Returns the current options of a session, with its modes.
    async fn options_on(&self, on: &Scene) -> Result<Options, ServiceError> {
        let mut options = match self.settings.of_session(&on.session) {
            Some(follower) => follower.look().await.options.clone(),
            None => self.settings.read(&on.cwd).await.map_err(|error| self.failed(&error))?.options,
        };
        (options.mode, options.permission_mode) = (on.mode, on.permission_mode);
        Ok(options)
    }

    /// Returns access to the servers of a session, without its model.
    #[cfg(feature = "extensions")]
    async fn direct(&self, on: &Scene, force: bool) -> Result<Arc<Direct>, ServiceError> {
        let outside = crate::wiring::outside(&self.options_on(on).await?, &on.cwd, force);
        Ok(Direct::new(
            self.extensions.mcp.clone(),
            outside,
            self.extensions.servers.session_servers(&on.session),
        ))
    }

    /// Makes a session start the servers that have become trusted and stop those that no longer
    /// are.
    ///
    /// Other sessions check before their next request to a model.
    async fn look_again(&self, on: &Scene) {
        self.extensions.look_again(&on.session).await;
    }

    /// Converts an error, without its secrets.
    fn failed(&self, error: &anyhow::Error) -> ServiceError {
        ServiceError::Failed(self.environment.redactor().shown(&format!("{error:#}")))
    }
}
