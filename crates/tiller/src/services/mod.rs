//! The implementation of the native layer's requests: settings, servers, scripts, reports, exports.
//!
//! Each request uses the current settings of its session's directory and the session's modes.

mod integrations;
mod lua;
mod mcp;
mod memories;
mod settings;
mod trust;

use crate::mcp::DirectServers;
use crate::{
    doctor, environment::Environment, extensions::Extensions, options::Options,
    redacting_writer::RedactingWriter, secrets::Values, sessions::transfer, settings::Settings, setup,
};
use acp::native::{
    AddServer, CallFunction, CallTool, ConfigureIntegration, ExecuteLua, ListFunctions, ListMemories,
    ListTools, SetSecret,
};
use acp::native::{ConfigureProvider, NativeServices, RequestContext, ServiceError, SetSetting, TrustGrant};
use agent::{MemoryDraft, MemoryId, Runtime, SessionId};
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
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) environment: Environment,
    pub(crate) extensions: Extensions,
    /// Serialises changes of files.
    pub(crate) writing: tokio::sync::Mutex<()>,
}

impl Services {
    /// Creates the services of a runtime with these models.
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        catalog: Arc<Catalog>,
        settings: Arc<Settings>,
        options: &Options,
        environment: &Environment,
        extensions: Extensions,
    ) -> Self {
        Self {
            runtime,
            settings,
            options: options.clone(),
            catalog,
            environment: environment.clone(),
            extensions,
            writing: tokio::sync::Mutex::default(),
        }
    }
}

#[async_trait]
impl NativeServices for Services {
    async fn is_without_model(&self) -> bool {
        setup::is_without_model(&self.options.directories)
    }

    async fn set_without_model(&self) {
        if let Err(error) = setup::set_without_model(&self.options).await {
            tracing::warn!("the choice to continue without a model was not stored: {error:#}");
        }
    }

    async fn set_setting(&self, context: &RequestContext, set: SetSetting) -> Result<Value, ServiceError> {
        settings::set(self, context, set).await
    }

    async fn configure_provider(
        &self,
        context: &RequestContext,
        set: ConfigureProvider,
    ) -> Result<Value, ServiceError> {
        settings::configure_provider(self, context, set).await
    }

    async fn list_trust(&self, context: &RequestContext) -> Result<Value, ServiceError> {
        Ok(trust::list(self, context).await)
    }

    async fn grant_trust(
        &self,
        context: &RequestContext,
        items: Vec<TrustGrant>,
    ) -> Result<Value, ServiceError> {
        trust::grant(self, context, items).await
    }

    async fn revoke_trust(
        &self,
        context: &RequestContext,
        ids: Option<Vec<String>>,
    ) -> Result<Value, ServiceError> {
        trust::revoke(self, context, ids).await
    }

    async fn list_functions(
        &self,
        context: &RequestContext,
        query: ListFunctions,
    ) -> Result<Value, ServiceError> {
        integrations::list(self, context, query).await
    }

    async fn describe_function(
        &self,
        context: &RequestContext,
        function: String,
    ) -> Result<Value, ServiceError> {
        integrations::describe(self, context, &function).await
    }

    async fn call_function(
        &self,
        context: &RequestContext,
        call: CallFunction,
    ) -> Result<Value, ServiceError> {
        integrations::call(self, context, call).await
    }

    async fn configure_integration(
        &self,
        context: &RequestContext,
        set: ConfigureIntegration,
    ) -> Result<Value, ServiceError> {
        integrations::configure(self, context, set).await
    }

    async fn list_servers(&self, context: &RequestContext, force: bool) -> Result<Value, ServiceError> {
        mcp::list_servers(self, context, force).await
    }

    async fn list_tools(&self, context: &RequestContext, query: ListTools) -> Result<Value, ServiceError> {
        mcp::list_tools(self, context, query).await
    }

    async fn tool_schema(
        &self,
        context: &RequestContext,
        function: String,
        force: bool,
    ) -> Result<Value, ServiceError> {
        mcp::tool_schema(self, context, &function, force).await
    }

    async fn call_tool(&self, context: &RequestContext, call: CallTool) -> Result<Value, ServiceError> {
        Ok(mcp::call_tool(self, context, call).await)
    }

    async fn add_server(&self, context: &RequestContext, add: AddServer) -> Result<Value, ServiceError> {
        mcp::add_server(self, context, add).await
    }

    async fn set_secret(&self, context: &RequestContext, set: SetSecret) -> Result<Value, ServiceError> {
        mcp::set_secret(self, context, set).await
    }

    async fn execute_lua(&self, context: &RequestContext, run: ExecuteLua) -> Result<Value, ServiceError> {
        lua::execute(self, context, run).await
    }

    async fn list_memories(
        &self,
        context: &RequestContext,
        query: ListMemories,
    ) -> Result<Value, ServiceError> {
        memories::list(self, context, query).await
    }

    async fn save_memory(&self, context: &RequestContext, draft: MemoryDraft) -> Result<Value, ServiceError> {
        memories::save(self, context, draft).await
    }

    async fn forget_memory(&self, context: &RequestContext, id: MemoryId) -> Result<Value, ServiceError> {
        memories::forget(self, context, id).await
    }

    async fn export(&self, session: &SessionId, format: &str) -> Result<String, ServiceError> {
        let mut text = Vec::new();
        {
            let mut out = RedactingWriter::data(&mut text, self.environment.redactor().clone());
            let exported = match format {
                "markdown" => transfer::as_markdown(&self.runtime, session, &mut out).await,
                _ => transfer::as_json(&self.runtime, session, self.environment.redactor(), &mut out).await,
            };
            exported.map_err(|error| ServiceError::Failed(format!("{error:#}")))?;
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    async fn doctor(&self) -> Result<Value, ServiceError> {
        let (now, problem) = self.settings.refresh().await.map_err(|error| self.failed(&error))?;
        let options = &now.options;
        let system = crate::wiring::local_system(options);
        let values = Values::new(self.environment.clone(), system, &options.directories);
        let stores = values.stores().await.unwrap_or_default();
        let subject = doctor::Subject {
            options,
            environment: &self.environment,
            cwd: self.settings.start(),
            catalog: &self.catalog,
            values: &values,
            stores: &stores,
            notices: &now.notices,
            settings_problem: problem.as_deref(),
        };
        Ok(doctor::native_report(subject).await)
    }
}

impl Services {
    /// Returns the current options of a session, with its modes.
    async fn current_options(&self, context: &RequestContext) -> Result<Options, ServiceError> {
        let mut options = match self.settings.of_session(&context.session) {
            Some(follower) => follower.refresh().await.options.clone(),
            None => self.settings.read(&context.cwd).await.map_err(|error| self.failed(&error))?.options,
        };
        (options.session.mode, options.session.permission_mode) = (context.mode, context.permission_mode);
        Ok(options)
    }

    /// Returns access to the servers of a session, without its model.
    async fn direct(
        &self,
        context: &RequestContext,
        force: bool,
    ) -> Result<Arc<DirectServers>, ServiceError> {
        let outside = crate::wiring::outside(&self.current_options(context).await?, &context.cwd, force);
        Ok(DirectServers::new(
            self.extensions.mcp.clone(),
            outside,
            self.extensions.servers.session_servers(&context.session),
        ))
    }

    /// Makes a session start the servers that have become trusted and stop those that no longer
    /// are.
    ///
    /// Other sessions check before their next request to a model.
    async fn refresh_servers(&self, context: &RequestContext) {
        self.extensions.refresh_servers(&context.session).await;
    }

    /// Converts an error, without its secrets.
    fn failed(&self, error: &anyhow::Error) -> ServiceError {
        ServiceError::Failed(self.environment.redactor().shown(&format!("{error:#}")))
    }
}
