//! Runs the commands that show and change how the program is set up. They work with settings files
//! that other commands refuse, as far as they can.

use super::{Resolved, resolve_settings, resolve_settings_or_defaults};
use crate::{
    answer::Console,
    args::{
        AuthCommand, ConfigCommand, DoctorArgs, ProvidersCommand, SecretsCommand, SettingsCommand, SetupArgs,
    },
    auth,
    config::Flags,
    doctor::{self, Extent},
    environment::{self, Environment},
    exit::Exit,
    providers::{self, ProvidersContext},
    secrets::{self, Values},
    settings::Settings,
    settings_commands::{self, SettingsContext},
    setup::{self, SetupContext},
    wiring,
};
use anyhow::Result;

pub(super) async fn settings(
    console: &Console,
    environment: &Environment,
    command: SettingsCommand,
) -> Result<Exit> {
    if matches!(command, SettingsCommand::Doctor) {
        let extent = Extent { settings_only: true, ..Extent::default() };
        return check(console, environment, extent, false).await;
    }
    let cwd = environment::current_dir()?;
    let settings = &Settings::new(environment, &cwd, Flags::default())?;
    let context = SettingsContext { settings, environment, cwd: &cwd };
    settings_commands::run(console, &context, command).await
}

pub(super) async fn config(
    console: &Console,
    environment: &Environment,
    command: ConfigCommand,
) -> Result<Exit> {
    let cwd = environment::current_dir()?;
    let settings = &Settings::new(environment, &cwd, Flags::default())?;
    let context = SettingsContext { settings, environment, cwd: &cwd };
    settings_commands::run_config(console, &context, command).await
}

pub(super) async fn setup(console: &Console, environment: &Environment, args: &SetupArgs) -> Result<Exit> {
    let Resolved { options, cwd, .. } = resolve_settings(environment, Flags::default()).await?;
    let context = SetupContext { console, options: &options, environment, cwd: &cwd };
    console.print(setup::run(&context, args).await?)
}

pub(super) async fn providers(
    console: &Console,
    environment: &Environment,
    command: ProvidersCommand,
) -> Result<Exit> {
    let Resolved { settings, options, cwd, .. } = resolve_settings(environment, Flags::default()).await?;
    let context =
        ProvidersContext { console, settings: &settings, options: &options, environment, cwd: &cwd };
    providers::run(&context, command).await
}

pub(super) async fn auth(console: &Console, environment: &Environment, command: AuthCommand) -> Result<Exit> {
    let Resolved { settings, options, cwd, .. } = resolve_settings(environment, Flags::default()).await?;
    let context =
        ProvidersContext { console, settings: &settings, options: &options, environment, cwd: &cwd };
    auth::run(&context, command).await
}

pub(super) async fn secrets(
    console: &Console,
    environment: &Environment,
    command: SecretsCommand,
) -> Result<Exit> {
    let Resolved { options, .. } = resolve_settings_or_defaults(environment, Flags::default()).await?;
    secrets::commands::run(console, &options, environment, command).await
}

pub(super) async fn doctor(console: &Console, environment: &Environment, args: &DoctorArgs) -> Result<Exit> {
    if args.reset_terminal {
        doctor::reset_terminal()?;
        console.note("The terminal is reset.");
        return Ok(Exit::Ok);
    }
    check(console, environment, args.into(), args.strict).await
}

async fn check(console: &Console, environment: &Environment, extent: Extent, strict: bool) -> Result<Exit> {
    let cwd = environment::current_dir()?;
    let settings = Settings::new(environment, &cwd, Flags::default())?;
    // The report has the notices, so they are not logged.
    let (snapshot, problem) = settings.read_or_defaults(&cwd).await?;
    let options = &snapshot.options;
    let catalog = wiring::catalog(options, environment.redactor(), &cwd);
    let values = Values::new(environment.clone(), wiring::local_system(options), &options.directories);
    let stores = values.stores().await.unwrap_or_default();
    let subject = doctor::Subject {
        options,
        environment,
        cwd: &cwd,
        catalog: &catalog,
        values: &values,
        stores: &stores,
        notices: &snapshot.notices,
        settings_problem: problem.as_deref(),
    };
    console.print(doctor::run(subject, extent, strict).await?)
}
