//! `tiller secrets`: names and places of secrets, never their values.

use super::{Store, Values, Wanted, path};
use crate::{
    answer::{Answer, Console},
    args::{SecretStore, SecretsCommand},
    environment::Environment,
    exit::Exit,
    failure::{Failure, Kind},
    limits,
    options::{BUILT_IN, Options},
    question,
    stored_keys::secret_name,
    table::Table,
    wiring,
};
use anyhow::{Context as _, Result, ensure};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{IsTerminal as _, Read as _};

/// The answer of `tiller secrets list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SecretList {
    /// The stored secrets.
    keys: Vec<SecretRow>,
}

/// A stored secret.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SecretRow {
    /// Its name.
    name: String,
    /// Where it is: keyring or file.
    store: &'static str,
    /// What uses it, in words.
    used_by: String,
}

/// The answer of `tiller secrets set` and `unset`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SecretChange {
    /// The name of the secret.
    name: String,
    /// Where it is stored now: keyring or file; null if it was removed.
    store: Option<&'static str>,
    /// Whether one was removed.
    removed: bool,
    /// Why it is not in the keyring.
    note: Option<String>,
}

/// The answer of `tiller secrets status`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SecretStatus {
    /// Where a new secret goes: keyring or file.
    default_store: &'static str,
    /// Whether this environment has a keyring.
    keyring: bool,
    /// The program by which the keyring is used.
    keyring_program: Option<&'static str>,
    /// Why there is no keyring.
    keyring_problem: Option<String>,
    /// The file of secrets.
    file: String,
    /// Whether the file exists.
    file_exists: bool,
    /// The number of secrets in the keyring.
    in_keyring: usize,
    /// The number of secrets in the file.
    in_file: usize,
}

/// Runs the command.
pub(crate) async fn run(
    console: &Console,
    options: &Options,
    environment: &Environment,
    command: SecretsCommand,
) -> Result<Exit> {
    let values = Values::new(environment.clone(), wiring::local_system(options), &options.directories);
    let answer = match command {
        SecretsCommand::List => list(&values).await?,
        SecretsCommand::Set { name, store } => set(console, options, &values, &name, store).await?,
        SecretsCommand::Unset { name } => unset(options, &values, &name).await?,
        SecretsCommand::Status => status(options, &values).await?,
    };
    console.print(answer)
}

async fn list(values: &Values) -> Result<Answer> {
    let stores = values.stores().await?;
    let row =
        |(name, store): (String, Store)| SecretRow { used_by: used_by(&name), store: store.word(), name };
    let keys: Vec<_> = stores.into_iter().map(row).collect();
    let mut table = Table::new(["NAME", "STORE", "USED BY"]);
    for SecretRow { name, store, used_by } in &keys {
        table.row([name.clone(), (*store).to_owned(), used_by.clone()]);
    }
    let text = match keys.as_slice() {
        [] => "No secret is stored. `tiller setup` stores the key of a provider.\n".to_owned(),
        _ => table.text(),
    };
    Ok(Answer::new(&SecretList { keys }, text))
}

async fn set(
    console: &Console,
    options: &Options,
    values: &Values,
    name: &str,
    store: SecretStore,
) -> Result<Answer> {
    let name = full_name(options, name)?;
    let value = match std::io::stdin().is_terminal() {
        true if console.may_ask() => {
            question::hidden("The secret (not shown): ", |typed| Ok(typed.trim().to_owned()))?
                .ok_or_else(|| Failure::new(Kind::Usage, "no secret was given; nothing was changed"))?
        }
        true => return Err(Console::missing("the secret", "it on standard input").into()),
        false => from_stdin()?,
    };
    let wanted = match store {
        SecretStore::Auto => Wanted::Auto,
        SecretStore::Keyring => Wanted::Only(Store::Keyring),
        SecretStore::File => Wanted::Only(Store::File),
    };
    let stored = values.set(&name, &value, wanted).await.map_err(|error| {
        Failure::new(Kind::NotAvailable, format!("{error:#}"))
            .hint("without --store, the file is used instead")
    })?;
    let note = stored.why_not.map(|why| why.to_string());
    let place = describe(options, stored.store);
    let mut text = format!("{name} is {place}.\n");
    note.iter().for_each(|note| text += &format!("note: {note}\n"));
    let body = SecretChange { name, store: Some(stored.store.word()), removed: false, note };
    Ok(Answer::new(&body, text))
}

/// Describes a store with what it protects from.
pub(crate) fn describe(options: &Options, store: Store) -> String {
    match store {
        Store::Keyring => "in your keyring".to_owned(),
        Store::File => {
            format!("in {}, unencrypted, which only you can read", path(&options.directories))
        }
    }
}

async fn unset(options: &Options, values: &Values, name: &str) -> Result<Answer> {
    let name = full_name(options, name)?;
    if !values.remove(&name).await? {
        let known = values.stores().await?;
        return Err(Failure::new(Kind::NotFound, format!("no secret is called {name}"))
            .meant(agent::closest(&name, known.keys(), |known| known))
            .next("tiller secrets list")
            .into());
    }
    let text = format!("{name} is removed.\n");
    Ok(Answer::new(&SecretChange { name, store: None, removed: true, note: None }, text))
}

async fn status(options: &Options, values: &Values) -> Result<Answer> {
    let stores = values.stores().await?;
    let problem = values.keyring.check().await.err().map(|error| error.to_string());
    let file = path(&options.directories);
    let count = |store| stores.values().filter(|known| **known == store).count();
    let body = SecretStatus {
        default_store: if problem.is_none() { Store::Keyring.word() } else { Store::File.word() },
        keyring: problem.is_none(),
        keyring_program: values.keyring.program(),
        keyring_problem: problem,
        file_exists: system::FileStamp::of(&file).exists(),
        file: file.to_string(),
        in_keyring: count(Store::Keyring),
        in_file: count(Store::File),
    };
    let keyring = body.keyring_problem.clone().unwrap_or_else(|| "available".to_owned());
    let mut table = Table::plain();
    table.row(["new secrets go to".to_owned(), format!("the {}", body.default_store)]);
    table.row(["keyring".to_owned(), format!("{keyring} ({} secrets)", body.in_keyring)]);
    let file = format!("{} ({} secrets; unencrypted, mode 0600)", body.file, body.in_file);
    table.row(["file".to_owned(), file]);
    let text = table.text();
    Ok(Answer::new(&body, text))
}

/// Returns the name of a secret; the name of a provider stands for that provider's key.
fn full_name(options: &Options, name: &str) -> Result<String, Failure> {
    let is_provider = BUILT_IN[..3].contains(&name) || options.providers.custom.contains_key(name);
    if is_provider {
        return Ok(secret_name(name));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || ".-_/".contains(c);
    if name.contains('.') && name.chars().all(plain) {
        return Ok(name.to_owned());
    }
    Err(Failure::new(Kind::Usage, format!("{name:?} is not the name of a secret"))
        .hint("names are provider.NAME.api_key, web.NAME.api_key and mcp.SERVER.KEY"))
}

fn from_stdin() -> Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(limits::KEY_BYTES + 1).read_to_string(&mut text);
    read.context("the secret on stdin cannot be read")?;
    ensure!(text.len() as u64 <= limits::KEY_BYTES, "stdin is too long for a secret");
    let value = text.trim_end_matches(['\r', '\n']).to_owned();
    ensure!(!value.is_empty(), "the secret on stdin is empty");
    Ok(value)
}

/// Describes what uses a secret of this name.
fn used_by(name: &str) -> String {
    let parts: Vec<_> = name.split('.').collect();
    match parts.as_slice() {
        ["provider", provider, "api_key"] => format!("the models of {provider}"),
        ["web", provider, "api_key"] => format!("searches with {provider}"),
        ["mcp", server, "oauth"] => format!("the login to the MCP server {server}"),
        ["mcp", server, ..] => format!("the MCP server {server}"),
        ["integrations", service, account, ..] => format!("the integration {service}, account {account}"),
        _ => "a reference to it in a file, if any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secrets_name_tells_what_uses_it() {
        for (name, expected) in [
            ("provider.openai.api_key", "the models of openai"),
            ("web.brave.api_key", "searches with brave"),
            ("mcp.github.oauth", "the login to the MCP server github"),
            ("mcp.github.env.TOKEN", "the MCP server github"),
            ("integrations.plane.work.api_key", "the integration plane, account work"),
        ] {
            assert_eq!(used_by(name), expected);
        }
    }
}
