//! `tiller setup`: stores a provider's key and the model of new sessions.

mod dialogue;
mod store;

pub(crate) use store::{ProviderSetup, SetupError, SetupResult, set_up, store_setting, write};

use crate::{
    answer::Console,
    args::SetupArgs,
    config,
    environment::Environment,
    exit::Exit,
    failure::usage,
    keys::secret_name,
    limits,
    options::{Options, Secret},
    secrets::{self, Values},
    wiring,
};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::io::{Read, Write};
use system::AbsPath;

/// Sets up the provider of the arguments. Without one, asks on the terminal.
pub(crate) async fn run(
    console: &Console,
    options: &Options,
    environment: &Environment,
    cwd: &AbsPath,
    args: &SetupArgs,
) -> Result<Exit> {
    let values = Values::new(environment.clone(), wiring::local_system(options), &options.directories);
    if let (true, Some(provider)) = (args.forget, &args.provider) {
        return forget(&values, provider, console.is_json()).await;
    }
    let file = if args.project { config::project_path(cwd) } else { config::user_path(&options.directories) };
    let wanted = match &args.provider {
        Some(provider) => setup_from_args(args, provider)?,
        None if args.model.is_some() => model_from_args(args)?,
        None if console.may_ask() => dialogue::ask(options)?,
        None => {
            return Err(usage(
                "nothing to set up: pass --provider NAME (with --api-key-stdin, --api-key-env or --base-url), or --model PROVIDER/NAME; on a terminal it asks",
            ));
        }
    };
    let stored = set_up(options, &values, &file, &wanted).await?;
    print_result(options, &file, &wanted, &stored, console.is_json())?;
    Ok(Exit::Ok)
}

fn setup_from_args(args: &SetupArgs, provider: &str) -> Result<ProviderSetup> {
    Ok(ProviderSetup {
        provider: provider.to_owned(),
        model: args.model.clone(),
        base_url: args.base_url.clone(),
        key: if args.api_key_stdin { Some(key_from_stdin()?) } else { None },
        key_variable: args.api_key_env.clone(),
    })
}

/// Sets only the model; its provider is not changed.
fn model_from_args(args: &SetupArgs) -> Result<ProviderSetup> {
    let model = args.model.clone().unwrap_or_default();
    let Some((provider, _)) = model.split_once('/') else {
        return Err(usage(format!(
            "--model {model:?} names no provider; write PROVIDER/NAME, or add --provider"
        )));
    };
    Ok(ProviderSetup { provider: provider.to_owned(), model: Some(model), ..ProviderSetup::default() })
}

fn key_from_stdin() -> Result<Secret> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(limits::KEY_BYTES + 1).read_to_string(&mut text);
    read.context("the key on stdin cannot be read")?;
    ensure!(text.len() as u64 <= limits::KEY_BYTES, "stdin is too long for a key");
    key(&text)
}

/// Checks a key.
fn key(text: &str) -> Result<Secret> {
    let text = text.trim();
    ensure!(!text.is_empty(), "the key is empty");
    ensure!(
        text.bytes().all(|byte| byte.is_ascii_graphic()),
        "a key contains neither blanks nor control characters"
    );
    Ok(Secret::new(text))
}

async fn forget(values: &Values, provider: &str, json: bool) -> Result<Exit> {
    let mut secrets = values.secrets().await?;
    let found = secrets.remove(&secret_name(provider)).is_some();
    if found {
        values.store(&secrets).await?;
    }
    let mut stdout = crate::screen::stdout();
    match (json, found) {
        (true, _) => {
            writeln!(stdout, "{}", json!({"success": true, "provider": provider, "forgotten": found}))?
        }
        (false, true) => writeln!(stdout, "The key of {provider} is forgotten.")?,
        (false, false) => writeln!(stdout, "There was no stored key of {provider}.")?,
    }
    Ok(Exit::Ok)
}

fn print_result(
    options: &Options,
    file: &AbsPath,
    wanted: &ProviderSetup,
    stored: &SetupResult,
    json: bool,
) -> Result<()> {
    let mut stdout = crate::screen::stdout();
    let secrets = secrets::path(&options.directories);
    if json {
        let result = json!({
            "success": true,
            "provider": wanted.provider,
            "model": stored.model,
            "base_url": wanted.base_url,
            "key": if stored.key { Some(secrets.as_str()) } else { None },
            "settings": if stored.settings { Some(file.as_str()) } else { None },
        });
        writeln!(stdout, "{}", agent::escaped_json(&result.to_string()))?;
        return Ok(());
    }
    if !stored.key && !stored.settings {
        writeln!(stdout, "Nothing was changed.")?;
    }
    if stored.key {
        writeln!(stdout, "The key of {} is in {secrets}, which only you can read.", wanted.provider)?;
    }
    if stored.settings {
        writeln!(stdout, "The settings are in {file}.")?;
    }
    if let Some(model) = &stored.model {
        writeln!(stdout, "New sessions use {model}. Try it: tiller -p \"say hello\"")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_word() {
        assert_eq!(key(" sk-1\n").unwrap().reveal(), "sk-1");
        for bad in ["", " \n", "two words", "a\u{7}b", "schlüssel"] {
            assert!(key(bad).is_err(), "{bad:?}");
        }
    }
}
