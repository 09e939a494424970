//! `tiller config`: shows and writes the settings files, with the same code as other interfaces.

use super::{Settings, Snapshot};
use crate::{
    answer::Console,
    args::{ConfigCommand, ConfigPlace},
    config::{self, EffectiveSetting, SettingsFile, Value},
    environment::Environment,
    exit::Exit,
    options::{Directories, Options},
    setup, trust,
};
use anyhow::{Result, bail};
use serde_json::json;
use std::{io::Write, sync::Arc};
use system::AbsPath;

/// Runs the command.
pub(crate) async fn run(
    console: &Console,
    settings: &Arc<Settings>,
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    command: ConfigCommand,
) -> Result<Exit> {
    let asked = console.is_json();
    let (text, json) = match command {
        ConfigCommand::List => {
            let Snapshot { effective, notices, .. } = settings.read(cwd).await?;
            let mut text: String = effective.iter().map(line).collect();
            notices.iter().for_each(|notice| text += &format!("{notice}\n"));
            let settings: Vec<_> = effective.iter().map(row).collect();
            (text, asked.then(|| json!({ "settings": settings, "notices": notices })))
        }
        ConfigCommand::Get { name } => {
            config::check_name(&name)?;
            let mut effective = settings.read(cwd).await?.effective;
            effective.retain(|setting| setting.name == name);
            let mut text: String = effective.iter().map(line).collect();
            if text.is_empty() {
                text = format!("{name} is not set in a file\n");
            }
            let rows: Vec<_> = effective.iter().map(row).collect();
            (text, asked.then(|| json!({ "name": name, "settings": rows })))
        }
        ConfigCommand::Set { name, value, place } => {
            let file = path(&options.directories, cwd, &place);
            let awaiting_review = awaiting_review(&options.directories, cwd, &place).await;
            let value = store(options, &file, &name, &value).await?;
            stay_trusted(&options.directories, cwd, awaiting_review).await?;
            let text = format!("{name} = {value} is in {file}.\n");
            (text, asked.then(|| json!({ "name": name, "value": value.to_json(), "file": file.as_str() })))
        }
        ConfigCommand::Unset { name, place } => {
            let file = path(&options.directories, cwd, &place);
            let awaiting_review = awaiting_review(&options.directories, cwd, &place).await;
            let found = remove(options, &file, &name).await?;
            stay_trusted(&options.directories, cwd, awaiting_review).await?;
            let text = match found {
                true => format!("{name} is not in {file} any more.\n"),
                false => format!("{name} was not in {file}.\n"),
            };
            (text, asked.then(|| json!({ "name": name, "removed": found, "file": file.as_str() })))
        }
    };
    let mut stdout = crate::screen::stdout();
    match json {
        Some(json) => writeln!(stdout, "{}", environment.redactor().json_line(json))?,
        None => write!(stdout, "{}", environment.redactor().shown(&text))?,
    }
    Ok(Exit::Ok)
}

fn line(EffectiveSetting { name, value, place }: &EffectiveSetting) -> String {
    format!("{name} = {value}  ({place})\n")
}

fn row(EffectiveSetting { name, value, place }: &EffectiveSetting) -> serde_json::Value {
    json!({ "name": name, "value": value.to_json(), "place": place.to_string() })
}

fn path(directories: &Directories, cwd: &AbsPath, place: &ConfigPlace) -> AbsPath {
    if place.project { config::project_path(cwd) } else { config::user_path(directories) }
}

/// Stores a typed value: as JSON if the setting accepts that, else as text.
async fn store(options: &Options, file: &AbsPath, name: &str, typed: &str) -> Result<Value> {
    let text = serde_json::Value::String(typed.to_owned());
    let parsed = serde_json::from_str(typed).ok().filter(|parsed: &serde_json::Value| !parsed.is_string());
    let stored = match parsed {
        Some(parsed) => match setup::store_setting(options, file, name, &parsed).await {
            Ok(_) => parsed,
            // If neither form is valid, the error is about the JSON form.
            Err(wrong) => match setup::store_setting(options, file, name, &text).await {
                Ok(_) => text,
                Err(_) => bail!(wrong),
            },
        },
        None => setup::store_setting(options, file, name, &text).await?,
    };
    Ok(Value::of_json(&stored).expect("what was stored is a value of a setting"))
}

async fn remove(options: &Options, file: &AbsPath, name: &str) -> Result<bool> {
    config::check_name(name)?;
    let Some(before) = config::read(file.clone())? else { return Ok(false) };
    match config::without_setting(&before, name)? {
        None => Ok(false),
        Some(text) => {
            setup::write(options, &SettingsFile { path: file.clone(), text }).await?;
            Ok(true)
        }
    }
}

type AwaitingReview = Option<std::collections::BTreeSet<String>>;

/// Returns the ids of the project's settings that wait for trust before the change; `None` for the
/// user's own file.
async fn awaiting_review(directories: &Directories, cwd: &AbsPath, place: &ConfigPlace) -> AwaitingReview {
    match place.project {
        true => trust::settings_awaiting_review(directories, cwd).await,
        false => None,
    }
}

/// Trusts the settings that the user just stored, so that the user need not review them.
async fn stay_trusted(
    directories: &Directories,
    cwd: &AbsPath,
    awaiting_review: AwaitingReview,
) -> Result<()> {
    match awaiting_review {
        Some(awaiting_review) => trust::grant_written_settings(directories, cwd, &awaiting_review).await,
        None => Ok(()),
    }
}
