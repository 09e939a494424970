//! Functions of integrations for scripts and for models: of those that are switched on, for every account that has credentials.

use super::Integrations;
use crate::{extensions, settings::Settings};
use ::integrations::{Accounts as _, DEFAULT_ACCOUNT, Function, Integration, IntegrationTool, Switches};
use agent::{AnyTool, Offer, SessionId, SessionScope, ToolProvider, ToolSource};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};

/// Says what the user's switches are now.
pub(crate) type Now = dyn Fn() -> Arc<Switches> + Send + Sync;

/// The functions below `app.integrations`.
pub(crate) struct IntegrationFunctions {
    desk: Arc<Integrations>,
    now: Arc<Now>,
    found: Mutex<Vec<lua::Function>>,
}

impl IntegrationFunctions {
    pub(crate) fn new(desk: Arc<Integrations>, now: Arc<Now>) -> Self {
        Self { desk, now, found: Mutex::default() }
    }
}

#[async_trait]
impl lua::Functions for IntegrationFunctions {
    async fn prepare(&self) {
        let mut found = Vec::new();
        for (integration, function, account) in callable(&self.desk, &self.now).await {
            let tool = tool(&self.desk, &self.now, &integration, &function, &account);
            let account = match account.as_str() {
                DEFAULT_ACCOUNT => lua::Account::Default,
                _ => lua::Account::Named(account),
            };
            found.push(lua::Function {
                kind: lua::FunctionKind::Integration,
                namespace: integration.name.clone(),
                account,
                name: function.name.clone(),
                spec: tool.spec(),
                tool: Some(Arc::new(tool)),
            });
        }
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    fn list(&self) -> Vec<lua::Function> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Gives models the functions as tools, where the user wants that.
pub(crate) struct NativeTools {
    pub(crate) desk: Arc<Integrations>,
    pub(crate) settings: Arc<Settings>,
}

struct Source {
    desk: Arc<Integrations>,
    settings: Arc<Settings>,
    session: SessionId,
    now: Arc<Now>,
}

impl ToolProvider for NativeTools {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        Arc::new(Source {
            desk: self.desk.clone(),
            settings: self.settings.clone(),
            session: session.id.clone(),
            now: extensions::switches(&self.settings, session),
        })
    }
}

#[async_trait]
impl ToolSource for Source {
    async fn offer(&self) -> Offer {
        let follower = self.settings.of_session(&self.session);
        if !follower.is_some_and(|follower| follower.seen().options.integrations.native_tools) {
            return Offer { tools: Vec::new(), notices: Vec::new() };
        }
        let mut tools: Vec<Arc<dyn AnyTool>> = Vec::new();
        // A tool has no account beside its arguments: models have the user's own.
        for (integration, function, account) in callable(&self.desk, &self.now).await {
            if account == DEFAULT_ACCOUNT {
                tools.push(Arc::new(tool(&self.desk, &self.now, &integration, &function, &account)));
            }
        }
        Offer { tools, notices: Vec::new() }
    }
}

/// The functions of one integration that can be called now, on behalf of the user's own account.
pub(crate) async fn tools_of(
    desk: &Arc<Integrations>,
    switches: Arc<Switches>,
    name: &str,
) -> Vec<Arc<dyn AnyTool>> {
    let now: Arc<Now> = Arc::new(move || switches.clone());
    let mut tools: Vec<Arc<dyn AnyTool>> = Vec::new();
    for (integration, function, account) in callable(desk, &now).await {
        if integration.name == name && account == DEFAULT_ACCOUNT {
            tools.push(Arc::new(tool(desk, &now, &integration, &function, &account)));
        }
    }
    tools
}

fn tool(
    desk: &Arc<Integrations>,
    now: &Arc<Now>,
    integration: &Arc<Integration>,
    function: &Arc<Function>,
    account: &str,
) -> IntegrationTool {
    let filled: Vec<_> = integration.settings.iter().map(|field| field.name.clone()).collect();
    let (integration, function) = (integration.clone(), function.clone());
    IntegrationTool::new(integration, function, account, &filled, desk.caller.clone(), now.clone())
}

/// What can be called: functions of integrations that are switched on, with each account that has what the function needs.
async fn callable(desk: &Integrations, now: &Arc<Now>) -> Vec<(Arc<Integration>, Arc<Function>, String)> {
    let switches = now();
    if !switches.each.values().any(|own| own.enabled) {
        return Vec::new();
    }
    let catalogue = desk.catalogue().await;
    let mut callable = Vec::new();
    for integration in catalogue.all().filter(|integration| switches.of(&integration.name).enabled) {
        let mut names = desk.accounts.names(&integration.name).await;
        if !names.iter().any(|name| name == DEFAULT_ACCOUNT) {
            names.insert(0, DEFAULT_ACCOUNT.to_owned());
        }
        for name in names {
            let account = desk.accounts.account(&integration.name, &name).await;
            for function in integration.functions.values() {
                if integration.is_runnable(function) && account.is_complete(integration, Some(function)) {
                    callable.push((integration.clone(), function.clone(), name.clone()));
                }
            }
        }
    }
    callable
}
