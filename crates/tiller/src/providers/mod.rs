//! `tiller providers`: which providers of models there are, and how each is reached.

mod configure;
mod credentials;
mod list;
mod status;

pub(crate) use configure::{ProviderChange, ProviderRemoval, with_stored_key};
pub(crate) use credentials::{key_source, provider};
pub(crate) use list::{ProviderList, ProviderRow, rows, without_credentials};
pub(crate) use status::ProviderStatusList;

use crate::{
    answer::Console,
    args::{CustomCommand, ModelsOf, ProvidersCommand},
    environment::Environment,
    exit::Exit,
    models,
    options::Options,
    secrets::Values,
    settings::Settings,
    wiring,
};
use ::providers::Catalog;
use anyhow::Result;
use std::sync::Arc;
use system::AbsPath;

/// What the commands work on.
pub(crate) struct ProvidersContext<'a> {
    pub(crate) console: &'a Console,
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) options: &'a Options,
    pub(crate) environment: &'a Environment,
    pub(crate) cwd: &'a AbsPath,
}

/// Runs the command.
pub(crate) async fn run(context: &ProvidersContext<'_>, command: ProvidersCommand) -> Result<Exit> {
    let answer = match command {
        ProvidersCommand::List => context.list().await?,
        ProvidersCommand::Models(ModelsOf { provider, refresh }) => {
            let catalog = context.catalog();
            return models::list(context.console, &catalog, provider.as_deref(), refresh).await;
        }
        ProvidersCommand::RefreshModels { from } => {
            return models::refresh(context.console, &context.catalog(), context.cwd, &from).await;
        }
        ProvidersCommand::Status { provider } => context.status(provider.as_deref(), false).await?,
        ProvidersCommand::Doctor { provider } => context.status(provider.as_deref(), true).await?,
        ProvidersCommand::Configure(given) => context.configure(&given, false).await?,
        ProvidersCommand::Logout { provider } => context.logout(&provider).await?,
        ProvidersCommand::Custom(CustomCommand::List) => context.list_custom().await?,
        ProvidersCommand::Custom(CustomCommand::Upsert(given)) => context.configure(&given, true).await?,
        ProvidersCommand::Custom(CustomCommand::Delete { provider, to }) => {
            context.delete(&provider, &to).await?
        }
    };
    context.console.print(answer)
}

impl ProvidersContext<'_> {
    pub(crate) fn catalog(&self) -> Catalog {
        wiring::catalog(self.options, self.environment.redactor(), self.cwd)
    }

    pub(crate) fn values(&self) -> Values {
        let system = wiring::local_system(self.options);
        Values::new(self.environment.clone(), system, &self.options.directories)
    }
}
