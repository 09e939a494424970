//! The questions of `tiller setup` on a terminal.

use super::{
    Found, ProviderSetup, key,
    ready::{OFFERED_MODELS, ReadyFrom, ready},
    trial::Models,
};
use crate::{
    options::{Options, Secret},
    question::{self, say},
};
use ::providers::{KNOWN_PROVIDERS, KnownProvider, known_provider};
use anyhow::{Result, bail};

/// A choice of the first question.
enum Choice {
    /// What can be taken at once.
    Ready(ReadyFrom),
    /// A provider of this name.
    Provider(String),
    /// More known vendors.
    More,
    /// A server at an address of the user's own.
    Server,
    /// None for now.
    Pilot,
}

/// How the user proves who they are.
pub(super) enum Proof {
    /// With this key, or the one that is there.
    Key(Option<Secret>),
    /// On the vendor's page.
    Browser,
}

/// Asks for a provider, or for a model on this machine. Returns `None` if the user goes on without
/// one.
pub(super) fn provider(options: &Options, found: &Found) -> Result<Option<ProviderSetup>> {
    let mut choices: Vec<(String, Choice)> = Vec::new();
    for way in ready(options, found) {
        choices.push((format!("{}: {}", way.name, way.about), Choice::Ready(way.from)));
    }
    let known = |known: &&KnownProvider| !found.keys.iter().any(|found| found.name == known.name);
    for vendor in
        KNOWN_PROVIDERS.iter().filter(|vendor| vendor.built_in || vendor.browser_login).filter(known)
    {
        let about = if vendor.browser_login { " (sign in with the browser)" } else { "" };
        let stored = if options.has_key_of(vendor.name) { " (has a key)" } else { "" };
        if !options.providers.custom.contains_key(vendor.name) {
            let text = format!("{}{about}{stored}", vendor.label);
            choices.push((text, Choice::Provider(vendor.name.to_owned())));
        }
    }
    choices.push(("another vendor".to_owned(), Choice::More));
    choices.push(("a server of your own, at an address that you know".to_owned(), Choice::Server));
    choices.push(("none for now: an editor continues with the built-in pilot".to_owned(), Choice::Pilot));
    let (texts, choices): (Vec<_>, Vec<_>) = choices.into_iter().unzip();
    let chosen = question::choose("Which model provider?", &texts, Some(0))?;
    let named = |provider: String| ProviderSetup { provider, ..ProviderSetup::default() };
    Ok(Some(match choices.into_iter().nth(chosen).expect("the number is within the list") {
        Choice::Pilot => return Ok(None),
        Choice::Ready(ReadyFrom::Local(id)) => ProviderSetup { model: Some(id), ..named("local".to_owned()) },
        Choice::Ready(ReadyFrom::Provider(name)) | Choice::Provider(name) => named(name),
        Choice::More => {
            let others: Vec<_> = KNOWN_PROVIDERS.iter().filter(|known| !known.built_in).collect();
            let labels: Vec<_> = others.iter().map(|known| known.label.to_owned()).collect();
            let chosen = question::choose("Which vendor?", &labels, None)?;
            named(others[chosen].name.to_owned())
        }
        Choice::Server => {
            let name = question::ask("A name for it, such as `work`: ", |line| {
                options.providers.clone().named(line).map_err(anyhow::Error::msg)?;
                Ok(line.to_owned())
            })?;
            let url = question::ask("Its address, such as http://127.0.0.1:8000/v1: ", |line| {
                match line.starts_with("http://") || line.starts_with("https://") {
                    true => Ok(line.to_owned()),
                    false => bail!("an address begins with http:// or https://"),
                }
            })?;
            ProviderSetup { base_url: Some(url), ..named(name) }
        }
    }))
}

/// Asks how to sign in, where there is a choice, and for a key. `has_key` says that there is one.
pub(super) fn proof(provider: &str, has_key: bool) -> Result<Proof> {
    let known = known_provider(provider);
    if !has_key && known.is_some_and(|known| known.browser_login) {
        let ways = ["sign in with the browser".to_owned(), "type a key".to_owned()];
        if question::choose("How?", &ways, Some(0))? == 0 {
            return Ok(Proof::Browser);
        }
    }
    if let (Some(known), false) = (known, has_key) {
        say(&format!("Make a key at {}\n", known.key_page));
    }
    let question = match has_key {
        true => "Its key (not shown; empty: the one that is there): ",
        false => "Its key (not shown; empty: none): ",
    };
    Ok(Proof::Key(question::hidden(question, key)?))
}

/// Asks for the model of new sessions.
pub(super) fn model(models: &Models) -> Result<Option<String>> {
    let offered: Vec<_> = models.ids.iter().take(OFFERED_MODELS).cloned().collect();
    if offered.is_empty() {
        let model = question::ask("The name of a model that it has: ", |line| Ok(line.to_owned()))?;
        if model.is_empty() {
            say("No model is chosen; name one with --model when you start.\n");
        }
        return Ok(Some(model).filter(|model| !model.is_empty()));
    }
    let more = models.ids.len() - offered.len();
    let other = match more {
        0 => "another, by its name".to_owned(),
        more => format!("another, by its name ({more} more)"),
    };
    let choices: Vec<_> = offered.iter().cloned().chain([other]).collect();
    let chosen = question::choose("Which model for new sessions?", &choices, Some(0))?;
    match offered.get(chosen) {
        Some(id) => Ok(Some(id.clone())),
        None => question::ask("Its name: ", |line| match line {
            "" => bail!("a name is needed"),
            line => Ok(Some(line.to_owned())),
        }),
    }
}

/// Asks whether to store a setup whose test failed.
pub(super) fn store_anyway(problem: &str) -> Result<bool> {
    say(&format!("The test failed: {problem}\n"));
    question::ask("Store it anyway? [y/N] ", |line| match line.to_lowercase().as_str() {
        "y" | "yes" => Ok(true),
        "" | "n" | "no" => Ok(false),
        _ => bail!("type y or n"),
    })
}
