//! `providers list` and `providers custom list`.

use super::{ProvidersContext, credentials, key_source};
use crate::{
    answer::Answer,
    environment::Environment,
    options::{Options, Provider},
    secrets::Store,
    table::Table,
};
use ::providers::{Catalog, KNOWN_PROVIDERS, KnownProvider, known_provider};
use agent::Models as _;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The answer of `tiller providers list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProviderList {
    /// The providers: those with a wire of their own, those that are configured, then others whose
    /// address is known.
    providers: Vec<ProviderRow>,
}

/// A provider of models.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ProviderRow {
    /// The name, as in `NAME/MODEL`.
    pub(crate) name: String,
    /// The vendor's own name.
    pub(crate) label: String,
    /// The API that it speaks; auto if that is chosen by the model.
    pub(crate) wire: String,
    /// The base URL, without credentials; null if there is none.
    pub(crate) base_url: Option<String>,
    /// How it recognises its users: `api_key`, `browser` or `none`.
    pub(crate) auth_mode: &'static str,
    /// Whether there is a key: `configured`, `missing` or `not_needed`.
    pub(crate) auth_status: &'static str,
    /// Where the key comes from: `environment:NAME`, `keyring` or `file`.
    pub(crate) key_source: Option<String>,
    /// Whether sessions can use it now.
    pub(crate) usable: bool,
    /// The number of its models that are known without asking it.
    pub(crate) models: usize,
    /// The model of new sessions, if it is one of its models.
    pub(crate) default_model: Option<String>,
}

impl ProvidersContext<'_> {
    pub(super) async fn list(&self) -> Result<Answer> {
        let catalog = self.catalog();
        catalog.discover_here().await;
        let stores = self.values().stores().await?;
        let providers = rows(self.options, self.environment, &catalog, &stores);
        let mut text = table(providers.iter().filter(|row| row.usable || is_built_in(&row.name)));
        let others: Vec<_> = providers
            .iter()
            .filter(|row| !row.usable && !is_built_in(&row.name))
            .map(|row| row.name.as_str())
            .collect();
        if !others.is_empty() {
            text += &format!("\nNot set up: {}.\n", others.join(", "));
        }
        text += "Set one up with `tiller setup`, or a server of your own with `tiller providers custom upsert`.\n";
        Ok(Answer::new(&ProviderList { providers }, text))
    }

    pub(super) async fn list_custom(&self) -> Result<Answer> {
        let catalog = self.catalog();
        catalog.discover_here().await;
        let stores = self.values().stores().await?;
        let mut providers = rows(self.options, self.environment, &catalog, &stores);
        providers.retain(|row| self.options.providers.custom.contains_key(&row.name));
        let text = match providers.as_slice() {
            [] => {
                "There is none. Create one: tiller providers custom upsert NAME --base-url URL\n".to_owned()
            }
            _ => table(providers.iter()),
        };
        Ok(Answer::new(&ProviderList { providers }, text))
    }
}

fn table<'a>(rows: impl Iterator<Item = &'a ProviderRow>) -> String {
    let mut table = Table::new(["PROVIDER", "KEY", "MODELS", "ADDRESS", "DEFAULT"]);
    for row in rows {
        let key = match (row.auth_status, &row.key_source) {
            (_, Some(source)) => source.clone(),
            ("not_needed", None) => "none needed".to_owned(),
            (_, None) => "missing".to_owned(),
        };
        let default = row.default_model.clone().map(|model| format!("* {model}")).unwrap_or_default();
        let address = row.base_url.clone().unwrap_or_default();
        table.row([row.name.clone(), key, row.models.to_string(), address, default]);
    }
    table.text()
}

fn is_built_in(name: &str) -> bool {
    ["local", "offline"].contains(&name) || known_provider(name).is_some_and(|known| known.built_in)
}

/// Returns a row for every provider. Asks nobody; the catalogue knows what was discovered before.
pub(crate) fn rows(
    options: &Options,
    environment: &Environment,
    catalog: &Catalog,
    stores: &BTreeMap<String, Store>,
) -> Vec<ProviderRow> {
    let listed = catalog.list();
    let count = |name: &str| listed.iter().filter(|model| provider_of(&model.id) == name).count();
    let default = catalog.default_now();
    let default_of = |name: &str| default.clone().filter(|id| provider_of(id) == name);
    let remote = |name: &str, known: Option<&KnownProvider>, provider: Option<&Provider>| {
        let base_url = provider.and_then(|provider| provider.base_url.as_deref());
        let source = provider.and_then(|provider| key_source(name, provider, environment, stores));
        // A server at an address of the user's own may need no key.
        let own_address = base_url.is_some_and(|url| known.is_none_or(|known| known.base_url != url));
        let has_key = provider.is_some_and(|provider| provider.api_key.is_some());
        ProviderRow {
            name: name.to_owned(),
            label: known.map_or(name, |known| known.label).to_owned(),
            wire: provider.map_or("auto", |provider| wire(provider, name)).to_owned(),
            base_url: base_url.or(known.map(|known| known.base_url)).map(without_credentials),
            auth_mode: if known.is_some_and(|known| known.browser_login) { "browser" } else { "api_key" },
            auth_status: match (has_key, own_address) {
                (true, _) => "configured",
                (false, true) => "not_needed",
                (false, false) => "missing",
            },
            key_source: source.map(|source| source.text()),
            usable: has_key || own_address,
            models: if has_key || own_address { count(name) } else { 0 },
            default_model: default_of(name),
        }
    };
    let built_in = KNOWN_PROVIDERS.iter().filter(|known| known.built_in);
    let mut rows: Vec<_> = built_in
        .map(|known| remote(known.name, Some(known), credentials::provider(options, known.name)))
        .collect();
    let custom = options.providers.custom.iter();
    rows.extend(custom.map(|(name, provider)| remote(name, known_provider(name), Some(provider))));
    for (name, label) in
        [("local", "servers on this machine"), ("offline", "the built-in pilot, no language model")]
    {
        let models = count(name);
        rows.push(ProviderRow {
            name: name.to_owned(),
            label: label.to_owned(),
            wire: if name == "local" { "chat" } else { "none" }.to_owned(),
            base_url: None,
            auth_mode: "none",
            auth_status: "not_needed",
            key_source: None,
            usable: models > 0,
            models,
            default_model: default_of(name),
        });
    }
    let others = KNOWN_PROVIDERS.iter().filter(|known| !rows.iter().any(|row| row.name == known.name));
    let others: Vec<_> = others.map(|known| remote(known.name, Some(known), None)).collect();
    rows.extend(others);
    rows
}

fn provider_of(id: &str) -> &str {
    match id.split('/').next().unwrap_or_default() {
        "google" => "gemini",
        name => name,
    }
}

fn wire(provider: &Provider, name: &str) -> &'static str {
    use ::providers::Wire;
    match provider.wire {
        Wire::Auto if name == "anthropic" => "anthropic",
        Wire::Auto if name == "gemini" => "gemini",
        Wire::Auto => "auto",
        Wire::Chat => "chat",
        Wire::Responses => "responses",
        Wire::Anthropic => "anthropic",
        Wire::Gemini => "gemini",
    }
}

/// Removes the user, the password and the query of an address.
pub(crate) fn without_credentials(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    match plain.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let path = if rest.contains('/') { format!("/{path}") } else { String::new() };
            format!("{scheme}://{host}{path}")
        }
        None => plain.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_credentials() {
        for (url, shown) in [
            ("https://me:pass@host/v1?key=1", "https://host/v1"),
            ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("https://a@b@host:1/x/y@z", "https://host:1/x/y@z"),
        ] {
            assert_eq!(without_credentials(url), shown);
        }
    }
}
