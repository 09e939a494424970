//! Functions of integrations for scripts and models: those of enabled integrations, for every
//! account that has credentials.

use super::{Integrations, Whose, advice};
use crate::{extensions, settings::Settings};
use ::integrations::{Function, Integration, IntegrationTool, Switches};
use agent::{AnyTool, Offer, SessionId, SessionScope, ToolProvider, ToolSource};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError};

/// Returns the user's current switches.
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
        for Callable { integration, function, account, meant, unready } in
            callable(&self.desk, &self.now).await
        {
            let tool = tool(&self.desk, &self.now, &integration, &function, &account);
            let account = if meant { lua::Account::Default } else { lua::Account::Named(account) };
            found.push(lua::Function {
                kind: lua::FunctionKind::Integration,
                namespace: integration.name.clone(),
                account,
                name: function.name.clone(),
                spec: tool.spec(),
                tool: Some(Arc::new(tool)),
                unready,
            });
        }
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    async fn explain(&self, kind: lua::FunctionKind, path: &[String]) -> Option<String> {
        match kind {
            lua::FunctionKind::Integration => advice::explain(&self.desk, &(self.now)(), path).await,
            lua::FunctionKind::Mcp => None,
        }
    }

    fn list(&self) -> Vec<lua::Function> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Provides the functions as tools for models, if the user enabled that.
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
    fn grows(&self) -> bool {
        let follower = self.settings.of_session(&self.session);
        follower.is_some_and(|follower| follower.seen().options.integrations.native_tools)
    }

    async fn offer(&self) -> Offer {
        if !self.grows() {
            return Offer { tools: Vec::new(), notices: Vec::new() };
        }
        let mut tools: Vec<Arc<dyn AnyTool>> = Vec::new();
        // A tool has no parameter for the account, so models get the account that is used when a
        // call
        // names none.
        for one in callable(&self.desk, &self.now).await {
            if one.meant && one.unready.is_none() {
                tools.push(Arc::new(tool(
                    &self.desk,
                    &self.now,
                    &one.integration,
                    &one.function,
                    &one.account,
                )));
            }
        }
        Offer { tools, notices: Vec::new() }
    }
}

/// Returns the functions of one integration that can be called now, for the account that is used
/// when
/// a call names none.
pub(crate) async fn tools_of(
    desk: &Arc<Integrations>,
    switches: Arc<Switches>,
    name: &str,
) -> Vec<Arc<dyn AnyTool>> {
    let now: Arc<Now> = Arc::new(move || switches.clone());
    let mut tools: Vec<Arc<dyn AnyTool>> = Vec::new();
    for one in callable(desk, &now).await {
        if one.integration.name == name && one.meant && one.unready.is_none() {
            tools.push(Arc::new(tool(desk, &now, &one.integration, &one.function, &one.account)));
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

/// A function with its account.
struct Callable {
    integration: Arc<Integration>,
    function: Arc<Function>,
    account: String,
    /// Whether the account is used when a call names none.
    meant: bool,
    /// The credentials that the account lacks, and the command that sets them.
    unready: Option<String>,
}

/// Returns the functions of enabled integrations: for the account that is used when a call names
/// none, and for each other account.
async fn callable(desk: &Integrations, now: &Arc<Now>) -> Vec<Callable> {
    let switches = now();
    if !switches.each.values().any(|own| own.enabled) {
        return Vec::new();
    }
    let catalogue = desk.catalogue().await;
    let mut callable = Vec::new();
    for integration in catalogue.all().filter(|integration| switches.of(&integration.name).enabled) {
        let whose = Whose::of(desk, &integration.name).await;
        let accounts = std::iter::once((whose.meant(), true)).chain(whose.named().map(|name| (name, false)));
        for (account, meant) in accounts {
            for function in integration.functions.values().filter(|f| integration.is_runnable(f)) {
                callable.push(Callable {
                    integration: integration.clone(),
                    function: function.clone(),
                    account: account.to_owned(),
                    meant,
                    unready: whose.unready(integration, function, account),
                });
            }
        }
    }
    callable
}
