//! `tiller settings` and `tiller config`: show and write the settings files, with the same code as
//! other interfaces.

mod choices;
mod edit;
mod examples;
mod files;
mod interface;
mod rows;
mod show;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use choices::{ExampleList, OptionList};
pub(crate) use edit::Edited;
pub(crate) use files::{PathList, ShownConfig};
pub(crate) use rows::{choices, display};
pub(crate) use show::{SettingAnswer, SettingList};
pub(crate) use write::{Applied, SetAnswer, UnsetAnswer};

use crate::{
    answer::{Answer, Console},
    args::{ConfigCommand, SettingsCommand, SettingsFrom},
    config,
    environment::Environment,
    exit::Exit,
    failure::{Failure, Kind},
    options::Directories,
    settings::Settings,
    streams,
};
use anyhow::Result;
use std::{io::Write as _, sync::Arc};
use system::AbsPath;

/// What the commands work on.
pub(crate) struct SettingsContext<'a> {
    pub(crate) settings: &'a Arc<Settings>,
    pub(crate) environment: &'a Environment,
    pub(crate) cwd: &'a AbsPath,
}

/// Runs a command of `tiller settings`, except `doctor`.
pub(crate) async fn run(
    console: &Console,
    context: &SettingsContext<'_>,
    command: SettingsCommand,
) -> Result<Exit> {
    let answer = match command {
        SettingsCommand::List { prefix, set, from } => context.list(prefix.as_deref(), set, &from).await?,
        SettingsCommand::Get { name, from } => context.get(&name, &from).await?,
        SettingsCommand::Set { name, value, to } => context.set(&name, &value, &to).await?,
        SettingsCommand::Unset { name, to } => context.unset(&name, &to).await?,
        SettingsCommand::Apply { stdin_json: _, to } => context.apply(&to).await?,
        SettingsCommand::Options { name } => context.options(&name).await?,
        SettingsCommand::Examples { topic } => context.examples(topic.as_deref())?,
        SettingsCommand::Edit { to } => context.edit(console, to).await?,
        SettingsCommand::Doctor => unreachable!("the dispatch runs the doctor"),
    };
    console.print(answer)
}

/// Runs a command of `tiller config`.
pub(crate) async fn run_config(
    console: &Console,
    context: &SettingsContext<'_>,
    command: ConfigCommand,
) -> Result<Exit> {
    let answer = match command {
        ConfigCommand::Show { all } => context.show(all).await?,
        ConfigCommand::Paths => context.paths()?,
        ConfigCommand::Schema => {
            streams::stdout().write_all(schema().as_bytes())?;
            return Ok(Exit::Ok);
        }
        ConfigCommand::List => {
            let from = SettingsFrom { show_origin: true, ..SettingsFrom::default() };
            context.list(None, true, &from).await?
        }
        ConfigCommand::Get { name, from } => context.get(&name, &from).await?,
        ConfigCommand::Set { name, value, to } => context.set(&name, &value, &to).await?,
        ConfigCommand::Unset { name, to } => context.unset(&name, &to).await?,
    };
    console.print(answer)
}

/// Returns the text of the schema file.
pub(crate) fn schema() -> String {
    format!("{:#}\n", config::schema())
}

impl SettingsContext<'_> {
    fn directories(&self) -> &Directories {
        self.settings.directories()
    }
}

/// Returns the name without the name of a program before it, if there is such a setting.
fn checked_name(name: &str) -> Result<&str, Failure> {
    let name = plain_name(name);
    match config::check_name(name) {
        Ok(()) => Ok(name),
        Err(error) => Err(Failure::new(Kind::NotFound, error.to_string()).next("tiller settings list")),
    }
}

/// Removes the name of a program before the name of a setting.
pub(crate) fn plain_name(name: &str) -> &str {
    ["kosmokrator.", "tiller."].iter().find_map(|root| name.strip_prefix(root)).unwrap_or(name)
}

/// Formats a body and its text as an answer.
fn answer(body: &impl serde::Serialize, text: impl Into<String>) -> Answer {
    Answer::new(body, text)
}
