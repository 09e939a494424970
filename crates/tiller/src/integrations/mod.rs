//! Integrations: services whose functions users, scripts and models call. This module connects the
//! catalogue, the user's settings and the callers.

mod accounts;
mod advice;
mod call_line;
pub(crate) mod commands;
mod functions;
mod library;
pub(crate) mod rows;
mod settings;

pub(crate) use accounts::{Change, StoredAccounts};
pub(crate) use advice::AccountAdvice;
pub(crate) use commands::run;
pub(crate) use functions::{IntegrationFunctions, NativeTools, switches, tools_of};
pub(crate) use settings::Store;

use crate::{environment::Environment, options::Options, secrets::Values, wiring};
use ::integrations::{Call, Caller, Catalogue, IntegrationTool};
use agent::{AnyTool as _, Refusal};
use library::Library;
use serde_json::{Map, Value};
use std::sync::Arc;
use system::{AbsPath, System};

/// The state of integrations that lives as long as the program. Files are read on first use.
pub(crate) struct Integrations {
    library: Library,
    pub(crate) accounts: Arc<StoredAccounts>,
    pub(crate) caller: Arc<Caller>,
    catalogue: tokio::sync::Mutex<Option<Arc<Catalogue>>>,
}

impl Integrations {
    pub(crate) fn new(options: &Options, environment: &Environment) -> Arc<Self> {
        let system: Arc<dyn System> = wiring::local_system(options);
        let directories = &options.directories;
        let values = Values::new(environment.clone(), system.clone(), directories);
        let accounts = Arc::new(StoredAccounts::new(values, system.clone(), directories));
        let clients = wiring::service_clients(options);
        let caller = Caller::new(clients, accounts.clone(), environment.redactor().clone());
        Arc::new(Self {
            library: Library::new(system, directories),
            accounts,
            caller: Arc::new(caller),
            catalogue: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the catalogue of all integrations, which is read on first use and then cached.
    pub(crate) async fn catalogue(&self) -> Arc<Catalogue> {
        let mut catalogue = self.catalogue.lock().await;
        match &*catalogue {
            Some(known) => known.clone(),
            None => {
                let read = Arc::new(self.library.catalogue().await);
                read.broken().iter().for_each(|(name, why)| tracing::warn!("integration '{name}': {why}"));
                catalogue.insert(read).clone()
            }
        }
    }

    /// Returns why the policy denies a call that is made outside of a turn; `None` if it does not.
    ///
    /// Rules and tool lists apply to such calls too, and to the files that they send. With `asks`,
    /// a file that would need the user's approval is refused as well.
    pub(crate) async fn denial(
        &self,
        options: &Options,
        cwd: &AbsPath,
        call: &Call,
        asks: bool,
    ) -> Option<String> {
        let switches = Arc::new(options.switches());
        let (integration, function) = (call.integration.clone(), call.function.clone());
        let now = Arc::new(move || switches.clone());
        let tool = IntegrationTool::new(integration, function, &call.account, &[], self.caller.clone(), now);
        let parsed = tool.parse(Value::Object(Map::new())).ok()?;
        let outside = wiring::outside(options, cwd, call.force);
        if let Err(Refusal::Denied(reason)) = outside.check_call(&tool, parsed.as_ref()).await {
            return Some(reason);
        }
        match outside.check_reads(&tool.name(), call.reads()).await {
            Err(Refusal::Denied(reason)) => Some(reason),
            Err(Refusal::NeedsApproval(question)) if asks => Some(format!(
                "{question} No user can approve this call here: send a file of the project, or pass force for trusted automation."
            )),
            _ => None,
        }
    }
}
