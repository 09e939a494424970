//! The commands of `tiller integrations`. The output contains no secrets, and failures give a
//! non-zero exit code.

mod additions;
mod configuration;
mod inventory;
mod invocation;
mod manual;
pub(crate) mod rows;

use super::{Integrations, call_line, rows::IntegrationState};
use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::IntegrationsCommand,
    environment::Environment,
    exit::Exit,
    failure::usage,
    options::Options,
    wiring,
};
use ::integrations::{Function, Integration, Switches};
use anyhow::{Result, bail};
use std::sync::Arc;
use system::{AbsPath, System};

/// The state that the commands share.
struct CommandContext<'a> {
    options: &'a Options,
    environment: &'a Environment,
    cwd: &'a AbsPath,
    integrations: Arc<Integrations>,
    switches: Arc<Switches>,
    system: Arc<dyn System>,
}

/// Runs the command and prints its answer.
pub(crate) async fn run(
    console: &Console,
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    command: IntegrationsCommand,
) -> Result<Exit> {
    let json = wants_json(&command);
    let context = CommandContext {
        options,
        environment,
        cwd,
        integrations: Integrations::new(options, environment),
        switches: Arc::new(options.switches()),
        system: wiring::local_system(options),
    };
    // The arguments of a function are parsed by themselves, `--json` among them.
    let console = &console.with_json(json);
    match context.carry_out(command).await {
        Ok(answer) => console.print(answer),
        Err(error) => console.fail(error),
    }
}

/// Whether the arguments of a function have `--json`.
fn wants_json(command: &IntegrationsCommand) -> bool {
    use IntegrationsCommand as C;
    match command {
        C::Call { words } | C::Provider(words) => call_line::wants_json(words),
        _ => false,
    }
}

impl CommandContext<'_> {
    async fn carry_out(&self, command: IntegrationsCommand) -> Result<Answer> {
        use IntegrationsCommand as C;
        match command {
            C::List(named) => match named.name {
                Some(name) => self.functions_of(&name).await,
                None => Ok(self.list().await),
            },
            C::Status(named) => self.status(named.name.as_deref()).await,
            C::Doctor => Ok(self.doctor().await),
            C::Fields(one) => self.fields(&one.name).await,
            C::Configure(configure) => self.configure(configure).await,
            C::Search { words } => Ok(self.search(&words.join(" ")).await),
            C::Docs(one) => self.docs(&one).await,
            C::Schema(one) => self.schema(&one.name).await,
            C::Examples(one) => self.examples(&one.name).await,
            C::Call { words } => {
                let (function, rest) = call_line::function(&words)?;
                self.call(&function, &rest).await
            }
            C::Add(add) => self.add(add).await,
            C::Remove(one) => self.remove(&one.name).await,
            C::Enable(switched) => self.switch(&switched.name, true, &switched.scope).await,
            C::Disable(switched) => self.switch(&switched.name, false, &switched.scope).await,
            C::Lua(_) => bail!("scripts are run elsewhere"),
            C::Provider(words) => {
                let (provider, rest) = words.split_first().ok_or_else(|| usage("which integration?"))?;
                match call_line::function(rest) {
                    Ok((function, rest)) => self.call(&format!("{provider}.{function}"), &rest).await,
                    Err(_) => self.functions_of(provider).await,
                }
            }
        }
    }

    async fn integration(&self, name: &str) -> Result<Arc<Integration>> {
        let catalogue = self.integrations.catalogue().await;
        match catalogue.integration(name) {
            Ok(integration) => Ok(integration.clone()),
            Err(blocked) => match catalogue.broken().get(name) {
                Some(why) => Err(Failure::new(Kind::Config, format!("{blocked} {why}"))
                    .next(format!("tiller integrations remove {name}"))
                    .into()),
                None => {
                    let what = format!("{blocked} `tiller integrations list` lists those that are.");
                    let nearest = agent::closest(name, catalogue.all(), |known| &known.name);
                    Err(Failure::new(Kind::NotFound, what)
                        .meant(nearest.map(|known| &known.name))
                        .next("tiller integrations list")
                        .into())
                }
            },
        }
    }

    async fn function(&self, name: &str) -> Result<(Arc<Integration>, Arc<Function>)> {
        let catalogue = self.integrations.catalogue().await;
        if catalogue.integration(name).is_ok() {
            let what = format!("{name} is an integration; name one of its functions, as {name}.FUNCTION");
            return Err(Failure::new(Kind::Usage, what)
                .next(format!("tiller integrations list {name}"))
                .into());
        }
        let (integration, function) = catalogue.function(name)?;
        Ok((integration.clone(), function.clone()))
    }

    async fn state(&self, integration: &Integration) -> IntegrationState {
        IntegrationState::of(&self.integrations, integration, &self.switches).await
    }
}
