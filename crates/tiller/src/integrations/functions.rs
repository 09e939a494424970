//! Functions of integrations for scripts and models: those of enabled integrations, for every
//! account that has credentials.

use super::{AccountAdvice, Integrations, advice};
use crate::settings::Settings;
use ::integrations::{Function, Integration, IntegrationTool, Switches};
use agent::{AnyTool, Offer, SessionId, SessionScope, ToolProvider, ToolSource};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};

/// Returns the user's current switches.
pub(crate) type Now = dyn Fn() -> Arc<Switches> + Send + Sync;

/// Returns a function that reads a session's current settings for integrations.
pub(crate) fn switches(settings: &Arc<Settings>, session: &SessionScope) -> Arc<Now> {
    let (settings, session) = (settings.clone(), session.id.clone());
    // A session without a follower has ended.
    Arc::new(move || match settings.of_session(&session) {
        Some(follower) => Arc::new(follower.last_snapshot().options.switches()),
        None => Arc::default(),
    })
}

/// The functions below `app.integrations`.
pub(crate) struct IntegrationFunctions {
    integrations: Arc<Integrations>,
    now: Arc<Now>,
    found: Mutex<Vec<lua::Function>>,
}

impl IntegrationFunctions {
    pub(crate) fn new(integrations: Arc<Integrations>, now: Arc<Now>) -> Self {
        Self { integrations, now, found: Mutex::default() }
    }
}

#[async_trait]
impl lua::Functions for IntegrationFunctions {
    async fn prepare(&self) {
        let mut found = Vec::new();
        for CallableFunction { integration, function, account, is_default, missing_credentials } in
            callable(&self.integrations, &self.now).await
        {
            let tool = tool(&self.integrations, &self.now, &integration, &function, &account);
            let account = if is_default { lua::Account::Default } else { lua::Account::Named(account) };
            found.push(lua::Function {
                kind: lua::FunctionKind::Integration,
                namespace: integration.name.clone(),
                account,
                name: function.name.clone(),
                spec: tool.spec(),
                tool: Some(Arc::new(tool)),
                unready: missing_credentials,
            });
        }
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    async fn explain(&self, kind: lua::FunctionKind, path: &[String]) -> Option<String> {
        match kind {
            lua::FunctionKind::Integration => advice::explain(&self.integrations, &(self.now)(), path).await,
            lua::FunctionKind::Mcp => None,
        }
    }

    fn list(&self) -> Vec<lua::Function> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Provides the functions as tools for models, if the user enabled that.
pub(crate) struct NativeTools {
    pub(crate) integrations: Arc<Integrations>,
    pub(crate) settings: Arc<Settings>,
}

struct Source {
    integrations: Arc<Integrations>,
    settings: Arc<Settings>,
    session: SessionId,
    now: Arc<Now>,
}

impl ToolProvider for NativeTools {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        Arc::new(Source {
            integrations: self.integrations.clone(),
            settings: self.settings.clone(),
            session: session.id.clone(),
            now: switches(&self.settings, session),
        })
    }
}

#[async_trait]
impl ToolSource for Source {
    fn grows(&self) -> bool {
        let follower = self.settings.of_session(&self.session);
        follower.is_some_and(|follower| follower.last_snapshot().options.integrations.native_tools)
    }

    async fn offer(&self) -> Offer {
        if !self.grows() {
            return Offer::default();
        }
        let mut tools: Vec<Arc<dyn AnyTool>> = Vec::new();
        // A tool has no parameter for the account, so models get the account that is used when a
        // call
        // names none.
        for one in callable(&self.integrations, &self.now).await {
            if one.is_default && one.missing_credentials.is_none() {
                tools.push(Arc::new(tool(
                    &self.integrations,
                    &self.now,
                    &one.integration,
                    &one.function,
                    &one.account,
                )));
            }
        }
        Offer { tools, ..Offer::default() }
    }
}

/// Returns the functions of one integration that can be called now, for the account that is used
/// when
/// a call names none.
pub(crate) async fn tools_of(
    integrations: &Arc<Integrations>,
    switches: Arc<Switches>,
    name: &str,
) -> Vec<Arc<dyn AnyTool>> {
    let now: Arc<Now> = Arc::new(move || switches.clone());
    let mut tools: Vec<Arc<dyn AnyTool>> = Vec::new();
    for one in callable(integrations, &now).await {
        if one.integration.name == name && one.is_default && one.missing_credentials.is_none() {
            tools.push(Arc::new(tool(integrations, &now, &one.integration, &one.function, &one.account)));
        }
    }
    tools
}

fn tool(
    integrations: &Arc<Integrations>,
    now: &Arc<Now>,
    integration: &Arc<Integration>,
    function: &Arc<Function>,
    account: &str,
) -> IntegrationTool {
    let filled_in: Vec<_> = integration.auth.settings.iter().map(|field| field.name.clone()).collect();
    let (integration, function) = (integration.clone(), function.clone());
    IntegrationTool::new(integration, function, account, &filled_in, integrations.caller.clone(), now.clone())
}

/// A function with its account.
struct CallableFunction {
    integration: Arc<Integration>,
    function: Arc<Function>,
    account: String,
    /// Whether the account is used when a call names none.
    is_default: bool,
    /// The credentials that the account lacks, and the command that sets them.
    missing_credentials: Option<String>,
}

/// Returns the functions of enabled integrations: for the account that is used when a call names
/// none, and for each other account.
async fn callable(integrations: &Integrations, now: &Arc<Now>) -> Vec<CallableFunction> {
    let switches = now();
    if !switches.each.values().any(|own| own.enabled) {
        return Vec::new();
    }
    let catalogue = integrations.catalogue().await;
    let mut callable = Vec::new();
    for integration in catalogue.all().filter(|integration| switches.of(&integration.name).enabled) {
        let advice = AccountAdvice::of(integrations, &integration.name).await;
        let accounts =
            std::iter::once((advice.default_account(), true)).chain(advice.named().map(|name| (name, false)));
        for (account, is_default) in accounts {
            for function in integration.functions.values().filter(|f| integration.is_runnable(f)) {
                callable.push(CallableFunction {
                    integration: integration.clone(),
                    function: function.clone(),
                    account: account.to_owned(),
                    is_default,
                    missing_credentials: advice.missing_credentials(integration, function, account),
                });
            }
        }
    }
    callable
}
