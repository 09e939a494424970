//! `tiller setup`: stores a provider's key and the model of new sessions, after trying both.

mod dialogue;
mod first;
mod found;
mod ready;
mod sign_in;
mod store;
mod trial;
mod without_model;

pub(crate) use first::FirstSetup;
pub(crate) use sign_in::sign_in;
pub(crate) use store::{
    ProviderSetup, SetupError, SetupPlace, add_to_list, section, set_up, store_setting, with_stored_key,
    write,
};
pub(crate) use without_model::{is_without_model, set_without_model};

use crate::{
    answer::{Answer, Console},
    args::SetupArgs,
    environment::Environment,
    failure::{Failure, Kind, usage},
    limits,
    options::{Options, Secret},
    question,
    secrets::Values,
    stored_keys::secret_name,
    wiring,
};
use ::providers::known_provider;
use anyhow::{Context, Result, ensure};
use dialogue::Proof;
use found::Found;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::Read;
use system::AbsPath;
use trial::Trial;

/// The answer of `tiller setup`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SetupAnswer {
    /// The provider.
    provider: String,
    /// The model of new sessions, if one was chosen.
    model: Option<String>,
    /// The base URL that was stored.
    base_url: Option<String>,
    /// Where the key was stored: keyring or file; null if none was given.
    key: Option<&'static str>,
    /// The settings file, if it was written.
    settings: Option<String>,
    /// Whether the provider answered a request.
    tested: bool,
    /// Command lines to try next.
    next_commands: Vec<String>,
}

/// The answer of `tiller setup --forget`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Forgotten {
    /// The provider.
    provider: String,
    /// Whether there was a stored key.
    forgotten: bool,
}

/// What the command works on.
pub(crate) struct SetupContext<'a> {
    pub(crate) console: &'a Console,
    pub(crate) options: &'a Options,
    pub(crate) environment: &'a Environment,
    pub(crate) cwd: &'a AbsPath,
}

/// Sets up the provider of the arguments. Without one, asks on the terminal.
pub(crate) async fn run(context: &SetupContext<'_>, args: &SetupArgs) -> Result<Answer> {
    let options = context.options;
    let values =
        Values::new(context.environment.clone(), wiring::local_system(options), &options.directories);
    if let (true, Some(provider)) = (args.forget, &args.provider) {
        return forget(&values, provider).await;
    }
    let catalog = wiring::catalog(options, context.environment.redactor(), context.cwd);
    let asks = args.provider.is_none() && args.model.is_none();
    if asks && !context.console.may_ask() {
        return Err(usage(
            "nothing to set up: pass --provider NAME (with --api-key-stdin, --api-key-env or --base-url), or --model PROVIDER/NAME; on a terminal it asks",
        ));
    }
    let found = Found::new(options, context.environment, context.cwd, &catalog).await;
    let wanted = match asks {
        true => dialogue::provider(options, &found)?,
        false => Some(from_args(args)?),
    };
    let Some(mut wanted) = wanted else {
        set_without_model(options).await?;
        return Ok(without_model::answer());
    };
    if asks && wanted.provider != "local" {
        prove(context, &mut wanted).await?;
    } else if args.device {
        wanted.key = Some(sign_in(context, &wanted.provider, false).await?);
    }
    let place = SetupPlace::new(&options.directories, context.cwd, args.file.project);
    // Everything is checked before the first request.
    set_up(options, &values, &place, &wanted, true).await.map_err(Failure::from)?;
    let trial = Trial::new(options, context.environment, context.cwd, &wanted);
    let mut tested = false;
    if !args.offline && changes_something(&wanted) {
        tested = match trial.test().await {
            Err(failure) if !asks || !dialogue::store_anyway(&failure.what)? => return Err(failure.into()),
            result => result.unwrap_or(false),
        };
    }
    choose_model(args, asks, &trial, &mut wanted, tested).await?;
    let stored = set_up(options, &values, &place, &wanted, false).await.map_err(Failure::from)?;
    let mut text = with_stored_key(options, &wanted.provider, stored.key.as_ref());
    if stored.settings {
        text += &format!("The settings are in {}.\n", place.path);
    }
    if tested {
        text += &format!("{} answers.\n", wanted.provider);
    }
    let mut next = Vec::new();
    if let Some(model) = &stored.model {
        text += &format!("New sessions use {model}.\n");
        next.push("tiller -p \"say hello\"".to_owned());
    }
    if stored.settings || stored.key.is_some() {
        let model = stored.model.is_none().then(|| "tiller models".to_owned());
        next.extend(model);
        next.extend(found.editors.iter().map(|editor| format!("tiller install {editor}")));
        text += &next_text(&next, &found);
    }
    if !stored.settings && stored.key.is_none() {
        text = "Nothing was changed.\n".to_owned();
    }
    let body = SetupAnswer {
        provider: wanted.provider,
        model: stored.model,
        base_url: stored.base_url,
        key: stored.key.map(|key| key.store.word()),
        settings: stored.settings.then(|| place.path.to_string()),
        tested,
        next_commands: next,
    };
    Ok(Answer::new(&body, text))
}

fn next_text(next: &[String], found: &Found) -> String {
    let mut text = "\nTry it:\n".to_owned();
    for command in next {
        let about = match command.strip_prefix("tiller install ") {
            Some(editor) => format!("      # {editor} is on this machine"),
            None => String::new(),
        };
        text += &format!("  {command}{about}\n");
    }
    if found.editors.is_empty() {
        text += "To work in an editor: tiller install --list\n";
    }
    text
}

/// Whether there is something to try. A setup without any value changes nothing.
fn changes_something(wanted: &ProviderSetup) -> bool {
    let ProviderSetup { model, base_url, key, key_variable, wire, provider: _ } = wanted;
    model.is_some() || base_url.is_some() || key.is_some() || key_variable.is_some() || wire.is_some()
}

/// Asks for a key, or signs in with the browser.
async fn prove(context: &SetupContext<'_>, wanted: &mut ProviderSetup) -> Result<()> {
    let trial_key = known_provider(&wanted.provider)
        .is_some_and(|known| context.environment.get(known.key_variable).is_some());
    let stored = context.options.has_key_of(&wanted.provider);
    match dialogue::proof(&wanted.provider, trial_key || stored)? {
        Proof::Key(key) => wanted.key = key,
        Proof::Browser => wanted.key = Some(sign_in(context, &wanted.provider, true).await?),
    }
    Ok(())
}

/// Asks for the model, or checks the given one against the provider's list.
async fn choose_model(
    args: &SetupArgs,
    asks: bool,
    trial: &Trial,
    wanted: &mut ProviderSetup,
    tested: bool,
) -> Result<()> {
    let named = wanted.model.clone();
    match named {
        None if !asks => Ok(()),
        None => {
            wanted.model = dialogue::model(&trial.models(tested).await)?;
            Ok(())
        }
        Some(_) if args.offline || args.allow_unlisted_model => Ok(()),
        Some(model) => {
            let models = trial.models(tested).await;
            let prefix = format!("{}/", wanted.provider);
            let id = if model.starts_with(&prefix) { model } else { prefix + &model };
            if !models.complete || models.ids.contains(&id) {
                return Ok(());
            }
            let nearest = agent::closest(&id, &models.ids, |known| known);
            let meant = nearest.map(|nearest| format!("did you mean {nearest}? ")).unwrap_or_default();
            Err(Failure::new(Kind::NotFound, format!("{} does not list the model {id}", wanted.provider))
                .hint(format!("{meant}--allow-unlisted-model accepts it all the same"))
                .into())
        }
    }
}

fn from_args(args: &SetupArgs) -> Result<ProviderSetup> {
    let Some(provider) = &args.provider else { return model_from_args(args) };
    Ok(ProviderSetup {
        provider: if provider == "google" { "gemini".to_owned() } else { provider.clone() },
        model: args.model.clone(),
        base_url: args.base_url.clone(),
        key: if args.api_key_stdin { Some(key_from_stdin()?) } else { None },
        key_variable: args.api_key_env.clone(),
        wire: None,
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

/// Reads a key from standard input.
pub(crate) fn key_from_stdin() -> Result<Secret> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(limits::KEY_BYTES + 1).read_to_string(&mut text);
    read.context("the key on stdin cannot be read")?;
    ensure!(text.len() as u64 <= limits::KEY_BYTES, "stdin is too long for a key");
    key(&text)
}

/// Asks for the key of a provider, if the user can be asked.
pub(crate) fn ask_key(console: &Console, provider: &str) -> Result<Option<Secret>> {
    if !console.may_ask() {
        return Err(Console::missing(
            &format!("the key of {provider}"),
            "--api-key-stdin, --api-key-env or --base-url",
        )
        .into());
    }
    if let Some(known) = known_provider(provider) {
        question::say(&format!("Make a key at {}\n", known.key_page));
    }
    question::hidden(&format!("The key of {provider} (not shown): "), key)
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

async fn forget(values: &Values, provider: &str) -> Result<Answer> {
    let forgotten = values.remove(&secret_name(provider)).await?;
    let text = match forgotten {
        true => format!("The key of {provider} is forgotten.\n"),
        false => format!("There was no stored key of {provider}.\n"),
    };
    Ok(Answer::new(&Forgotten { provider: provider.to_owned(), forgotten }, text))
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
