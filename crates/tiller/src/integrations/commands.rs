//! The commands of `tiller integrations`. The output contains no secrets, and failures give a
//! non-zero exit code.

mod additions;
mod configuration;
mod inventory;
mod invocation;
mod manual;

use super::{Integrations, call_line, rows::IntegrationState};
use crate::{
    args::IntegrationsCommand,
    environment::Environment,
    exit::{Exit, PrintedError, usage},
    limits::STDIN_BYTES,
    options::Options,
    report::Report,
    wiring,
};
use ::integrations::{Function, Integration, Switches};
use anyhow::{Context, Result, bail};
use std::{io::Read as _, sync::Arc};
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

/// Runs the command and prints its report.
pub(crate) async fn run(
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
    let report = match context.carry_out(command).await {
        Ok(report) => report,
        Err(error) if json => Report::of(&error),
        Err(error) => {
            let text = environment.redactor().redact(&format!("{error:#}"));
            return Err(PrintedError { exit: Exit::of(&error), text }.into());
        }
    };
    report.print(json, environment.redactor())
}

fn wants_json(command: &IntegrationsCommand) -> bool {
    use IntegrationsCommand as C;
    match command {
        C::List(named) | C::Status(named) => named.common.json,
        C::Doctor(common) | C::Search { common, .. } => common.json,
        C::Fields(one) | C::Remove(one) => one.common.json,
        C::Docs(one) | C::Schema(one) | C::Examples(one) => one.common.json,
        C::Configure(configure) => configure.common.json,
        C::Add(add) => add.common.json,
        C::Enable(switched) | C::Disable(switched) => switched.common.json,
        C::Lua(script) => script.json,
        C::Call { words } | C::Provider(words) => call_line::wants_json(words),
    }
}

impl CommandContext<'_> {
    async fn carry_out(&self, command: IntegrationsCommand) -> Result<Report> {
        use IntegrationsCommand as C;
        match command {
            C::List(named) => match named.name {
                Some(name) => self.functions_of(&name).await,
                None => Ok(self.list().await),
            },
            C::Status(named) => self.status(named.name.as_deref()).await,
            C::Doctor(_) => Ok(self.doctor().await),
            C::Fields(one) => self.fields(&one.name).await,
            C::Configure(configure) => self.configure(configure).await,
            C::Search { words, .. } => Ok(self.search(&words.join(" ")).await),
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
                Some(why) => bail!("{blocked} {why}"),
                None => bail!("{blocked} `tiller integrations list` lists those that are."),
            },
        }
    }

    async fn function(&self, name: &str) -> Result<(Arc<Integration>, Arc<Function>)> {
        let catalogue = self.integrations.catalogue().await;
        let (integration, function) = catalogue.function(name)?;
        Ok((integration.clone(), function.clone()))
    }

    async fn state(&self, integration: &Integration) -> IntegrationState {
        IntegrationState::of(&self.integrations, integration, &self.switches).await
    }
}

/// Reads all of stdin.
pub(crate) fn read_stdin() -> Result<String> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(STDIN_BYTES + 1).read_to_end(&mut bytes).context("stdin cannot be read")?;
    if bytes.len() as u64 > STDIN_BYTES {
        return Err(usage(format!("stdin is larger than {STDIN_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| usage("stdin is not UTF-8 text"))
}
