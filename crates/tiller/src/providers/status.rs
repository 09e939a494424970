//! `providers status` and `providers doctor`.

use super::{ProviderRow, ProvidersContext, credentials, rows};
use crate::{
    answer::Answer,
    failure::{Failure, Kind},
    table::Table,
};
use ::providers::known_provider;
use anyhow::Result;
use futures::future::join_all;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `tiller providers status` and `doctor`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProviderStatusList {
    /// The providers.
    providers: Vec<ProviderStatus>,
}

/// The state of a provider.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProviderStatus {
    #[serde(flatten)]
    provider: ProviderRow,
    /// Whether it answered; null if it was not asked.
    reachable: Option<bool>,
    /// How long the answer took, in milliseconds.
    latency_ms: Option<u64>,
    /// The number of models in its answer; null if it has no list.
    listed_models: Option<usize>,
    /// Why it cannot be used.
    error: Option<String>,
}

impl ProvidersContext<'_> {
    pub(super) async fn status(&self, only: Option<&str>, ask: bool) -> Result<Answer> {
        let catalog = self.catalog();
        catalog.discover_here().await;
        let stores = self.values().stores().await?;
        let mut all = rows(self.options, self.environment, &catalog, &stores);
        if let Some(only) = only {
            let name = if only == "google" { "gemini" } else { only };
            if !all.iter().any(|row| row.name == name) {
                return Err(unknown(only, &all).into());
            }
            all.retain(|row| row.name == name);
        } else {
            all.retain(|row| !(ask && row.name == "offline"));
            all.retain(|row| {
                row.usable || (!ask && credentials::provider(self.options, &row.name).is_some())
            });
        }
        let asked = join_all(all.into_iter().map(async |row| {
            if !ask || row.name == "offline" {
                return ProviderStatus::unasked(row);
            }
            let check = catalog.check_provider(&row.name).await;
            ProviderStatus {
                reachable: Some(check.error.is_none()),
                latency_ms: Some(check.latency.as_millis().try_into().unwrap_or(u64::MAX)),
                listed_models: check.models,
                error: check.error.map(|error| error.to_string()),
                provider: row,
            }
        }));
        let providers = asked.await;
        let failed = providers.iter().filter(|status| status.error.is_some() && ask).count();
        let nothing = providers.is_empty();
        let text = text(&providers);
        let answer = Answer::new(&ProviderStatusList { providers }, text);
        Ok(match (ask, failed) {
            (true, _) if nothing => {
                answer.failed(Failure::new(Kind::Config, "no provider is set up").next("tiller setup"))
            }
            (true, 1..) => answer.failed(Failure::new(Kind::Provider, format!("{failed} cannot be used"))),
            _ => answer,
        })
    }
}

impl ProviderStatus {
    fn unasked(provider: ProviderRow) -> Self {
        let missing = provider.auth_status == "missing";
        let error = missing.then(|| match known_provider(&provider.name) {
            Some(known) => format!("no key: set {}, or run `tiller setup`", known.key_variable),
            None => "no key: run `tiller setup`".to_owned(),
        });
        Self { provider, reachable: None, latency_ms: None, listed_models: None, error }
    }
}

fn text(providers: &[ProviderStatus]) -> String {
    let mut table = Table::new(["PROVIDER", "STATE", "KEY", "DETAIL"]);
    for status in providers {
        let row = &status.provider;
        let state = match (status.reachable, &status.error) {
            (Some(true), _) => "answers",
            (Some(false), _) => "fails",
            (None, Some(_)) => "not set up",
            (None, None) => "set up",
        };
        let detail = match (&status.error, status.latency_ms, status.listed_models) {
            (Some(error), ..) => error.clone(),
            (None, Some(latency), Some(models)) => format!("{models} models, {latency} ms"),
            (None, Some(latency), None) => format!("no list of models, {latency} ms"),
            _ => row.base_url.clone().unwrap_or_default(),
        };
        table.row([row.name.clone(), state.to_owned(), row.key_source.clone().unwrap_or_default(), detail]);
    }
    table.text()
}

/// Returns the failure for a provider that does not exist.
pub(super) fn unknown(name: &str, known: &[ProviderRow]) -> Failure {
    let nearest = agent::closest(name, known, |row| &row.name);
    let failure = Failure::new(Kind::NotFound, format!("there is no provider {name:?}"));
    let failure = match nearest {
        Some(nearest) => failure.hint(format!("did you mean {:?}?", nearest.name)),
        None => failure.hint(
            "a server of your own needs an address: tiller providers custom upsert NAME --base-url URL",
        ),
    };
    failure.next("tiller providers list")
}
