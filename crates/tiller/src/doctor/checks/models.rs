//! The model of new sessions, its key, and the servers on this machine.

use super::super::{report::Check, subject::Subject};
use crate::{
    address::without_credentials,
    options::{BUILT_IN, Options},
    providers::{key_source, provider as provider_options, rows},
    secrets::Store,
};
use agent::{Credentials, Models as _};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What is known of the model of new sessions.
#[derive(Debug, Default)]
pub(crate) struct ModelHealth {
    /// Its id; `None` if only the pilot would answer.
    pub(crate) default: Option<String>,
    /// The state of its provider's key: `present`, `missing` or `not_needed`.
    pub(crate) credentials: Option<&'static str>,
    pub(crate) checks: Vec<Check>,
    pub(crate) notices: Vec<String>,
}

/// Checks the model of new sessions. Sends nothing beyond this machine, unless `online` is set.
pub(crate) async fn models(subject: &Subject<'_>, online: bool) -> ModelHealth {
    let catalog = subject.catalog;
    match online {
        true => catalog.discover().await,
        false => catalog.discover_here().await,
    }
    let local: Vec<_> =
        catalog.list().into_iter().map(|model| model.id).filter(|id| id.starts_with("local/")).collect();
    let mut health = ModelHealth::default();
    let Some(id) = catalog.default_now() else {
        let asks_elsewhere = !subject.options.providers.custom.is_empty();
        health.checks.push(match asks_elsewhere {
            // A server elsewhere may have one, but it was not asked.
            true => Check::warning("model", "model", "no model is chosen for new sessions")
                .next("tiller models --refresh"),
            false => Check::error(
                "model",
                "model",
                "no language model is set up: only the built-in pilot is available",
            )
            .next("tiller setup"),
        });
        health.checks.push(servers(subject.options, &local));
        return health;
    };
    let credentials = catalog.credentials(&id);
    health.credentials = Some(match credentials {
        Credentials::NotNeeded => "not_needed",
        Credentials::Present => "present",
        Credentials::Refused => "refused",
        Credentials::Missing => "missing",
    });
    let provider = id.split('/').next().unwrap_or_default();
    let instead = local.first().map_or_else(
        || format!("tiller setup --provider {provider}"),
        |local| format!("tiller setup --model {local}"),
    );
    health.checks.push(match (credentials, catalog.get(&id).await) {
        (Credentials::Missing, _) => Check::error(
            "model",
            "model",
            format!("the default model {id} cannot be used: there is no key for {provider}"),
        )
        .next(instead),
        (_, Err(error)) => {
            Check::error("model", "model", format!("the default model {id} cannot be used: {error}"))
                .next("tiller models")
        }
        (_, Ok(_)) if id == ::providers::pilot::ID => Check::warning(
            "model",
            "model",
            "the default model is the built-in pilot, which is not a language model",
        )
        .next("tiller setup"),
        (_, Ok(_)) => Check::ok("model", "model", id.clone()),
    });
    health.checks.push(key(subject, provider, credentials));
    health.checks.push(servers(subject.options, &local));
    if !local.is_empty() && !id.starts_with("local/") {
        let chosen =
            if subject.options.session.model.is_some() { "the default is set to" } else { "the default is" };
        health.notices.push(format!("this machine serves {}; {chosen} {id}", local.join(", ")));
    }
    health.default = Some(id);
    health
}

fn key(subject: &Subject<'_>, provider: &str, credentials: Credentials) -> Check {
    const TITLE: &str = "key";
    let known = provider_options(subject.options, provider);
    let source = known.and_then(|known| key_source(provider, known, subject.environment, subject.stores));
    match (source, credentials) {
        (Some(source), _) => Check::ok("key", TITLE, format!("{provider}: {}", source.text())),
        (None, Credentials::NotNeeded) => Check::ok("key", TITLE, format!("{provider} needs none")),
        (None, _) => Check::error("key", TITLE, format!("{provider} has none"))
            .next(format!("tiller auth login {provider}")),
    }
}

fn servers(options: &Options, local: &[String]) -> Check {
    const TITLE: &str = "local servers";
    let looks = options.providers.local.discover || !options.providers.local.urls.is_empty();
    match (looks, local) {
        (false, _) => Check::skipped("local-servers", TITLE, "providers.local.discover is false"),
        (true, []) => Check::ok("local-servers", TITLE, "none answers on this machine"),
        (true, local) => Check::ok("local-servers", TITLE, local.join(", ")),
    }
}

/// Returns the vendors with wires of their own, and whether each has a key.
pub(crate) fn providers(subject: &Subject<'_>, stores: &BTreeMap<String, Store>) -> Vec<Value> {
    let rows = rows(subject.options, subject.environment, subject.catalog, stores);
    let configured = rows.into_iter().filter(|row| {
        BUILT_IN[..3].contains(&row.name.as_str()) || subject.options.providers.custom.contains_key(&row.name)
    });
    configured
        .map(|row| {
            json!({
                "name": row.name,
                "key": row.auth_status == "configured",
                "key_source": row.key_source,
                // The address that the settings name; null for the vendor's own.
                "base_url": configured_url(subject.options, &row.name),
            })
        })
        .collect()
}

fn configured_url(options: &Options, name: &str) -> Option<String> {
    provider_options(options, name)?.base_url.as_deref().map(without_credentials)
}
