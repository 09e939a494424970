//! `providers configure`, `logout` and `custom`: change how a provider is reached.

use super::{ProvidersContext, credentials, key_source, rows, status::unknown};
use crate::{
    address::without_credentials,
    answer::Answer,
    args::{ConfigureProvider, SettingsTo},
    config,
    failure::{Failure, Kind},
    setup::{self, ProviderSetup, SetupPlace},
    stored_keys::secret_name,
};
use ::providers::known_provider;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `tiller providers configure` and `custom upsert`. The key is never part of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProviderChange {
    /// The provider.
    provider: String,
    /// Whether nothing was written.
    dry_run: bool,
    /// The settings file's layer: global or project.
    scope: &'static str,
    /// Whether something was written.
    configured: bool,
    /// Whether sessions have a key for it now.
    has_api_key: bool,
    /// Where its key comes from: `environment:NAME`, `keyring` or `file`.
    key_source: Option<String>,
    /// Its base URL, without credentials; null for the vendor's own.
    base_url: Option<String>,
    /// The model of new sessions, if one was named.
    model: Option<String>,
    /// The settings file, if it was written.
    settings: Option<String>,
}

/// The answer of `tiller providers logout` and `custom delete`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProviderRemoval {
    /// The provider.
    provider: String,
    /// Whether something was removed.
    removed: bool,
    /// The environment variable that still has a key for it.
    variable: Option<String>,
}

impl ProvidersContext<'_> {
    pub(super) async fn configure(&self, given: &ConfigureProvider, custom: bool) -> Result<Answer> {
        let name = if given.provider == "google" { "gemini" } else { given.provider.as_str() };
        if custom && known_provider(name).is_some_and(|known| known.built_in) {
            return Err(Failure::new(
                Kind::Usage,
                format!("{name} is built in; no provider of your own can have its name"),
            )
            .next(format!("tiller providers configure {name}"))
            .into());
        }
        let known = known_provider(name).is_some() || self.options.providers.custom.contains_key(name);
        if !custom && !known && given.base_url.is_none() && !["local", "offline", "replay"].contains(&name) {
            let catalog = self.catalog();
            let stores = self.values().stores().await?;
            return Err(unknown(name, &rows(self.options, self.environment, &catalog, &stores)).into());
        }
        let empty = !given.api_key_stdin
            && given.api_key_env.is_none()
            && given.base_url.is_none()
            && given.wire.is_none()
            && given.model.is_none();
        let mut key = None;
        if given.api_key_stdin {
            key = Some(setup::key_from_stdin()?);
        } else if empty {
            key = setup::ask_key(self.console, name)?;
        }
        let wanted = ProviderSetup {
            provider: name.to_owned(),
            model: given.model.clone(),
            base_url: given.base_url.clone(),
            key,
            key_variable: given.api_key_env.clone(),
            wire: given.wire.map(|wire| wire.word()),
        };
        let place = SetupPlace::new(&self.options.directories, self.cwd, given.to.file.project);
        let values = self.values();
        let result = setup::set_up(self.options, &values, &place, &wanted, given.to.dry_run).await;
        let result = result.map_err(Failure::from)?;
        let now = self.settings.read(self.cwd).await?.options;
        let provider = credentials::provider(&now, name);
        let stores = values.stores().await?;
        let source = provider.and_then(|provider| key_source(name, provider, self.environment, &stores));
        let base_url =
            provider.and_then(|provider| provider.base_url.as_deref()).or(wanted.base_url.as_deref());
        let mut text = String::new();
        if given.to.dry_run {
            text += "Nothing was written: this was a trial.\n";
        }
        text += &setup::with_stored_key(self.options, name, result.key.as_ref());
        if result.settings && !given.to.dry_run {
            text += &format!("The settings are in {}.\n", place.path);
        }
        if let Some(model) = &result.model {
            text += &format!("New sessions use {model}.\n");
        }
        if text.is_empty() {
            text = "Nothing was changed.\n".to_owned();
        }
        let body = ProviderChange {
            provider: name.to_owned(),
            dry_run: given.to.dry_run,
            scope: place.scope(),
            configured: !given.to.dry_run && (result.settings || result.key.is_some()),
            has_api_key: provider.is_some_and(|provider| provider.api_key.is_some()),
            key_source: source.map(|source| source.text()),
            base_url: base_url.map(without_credentials),
            model: result.model,
            settings: (result.settings && !given.to.dry_run).then(|| place.path.to_string()),
        };
        Ok(Answer::new(&body, text))
    }

    /// Removes the stored key of a provider.
    pub(crate) async fn logout(&self, name: &str) -> Result<Answer> {
        let name = if name == "google" { "gemini" } else { name };
        let values = self.values();
        let stores = values.stores().await?;
        let provider = credentials::provider(self.options, name);
        if provider.is_none() && !stores.contains_key(&secret_name(name)) {
            let all = rows(self.options, self.environment, &self.catalog(), &stores);
            if !all.iter().any(|row| row.name == name) {
                return Err(unknown(name, &all).into());
            }
        }
        let removed = values.remove(&secret_name(name)).await?;
        let variable = provider.map(|provider| provider.api_key_env.clone());
        let variable = variable.filter(|variable| self.environment.get(variable).is_some());
        let mut text = match removed {
            true => format!("The key of {name} is removed.\n"),
            false => format!("There was no stored key of {name}.\n"),
        };
        if let Some(variable) = &variable {
            text += &format!("note: the environment variable {variable} still has one.\n");
        }
        Ok(Answer::new(&ProviderRemoval { provider: name.to_owned(), removed, variable }, text))
    }

    /// Deletes a custom provider from a settings file, with its stored key.
    pub(super) async fn delete(&self, name: &str, to: &SettingsTo) -> Result<Answer> {
        let place = SetupPlace::new(&self.options.directories, self.cwd, to.file.project);
        let text = config::read(place.path.clone())?.map(|file| file.text).unwrap_or_default();
        let without = config::without_group(&text, &setup::section(name));
        let is_custom = setup::section(name).starts_with("providers.custom");
        let Some(without) = without.filter(|_| is_custom) else {
            let what = format!("{} has no provider {name:?} of your own", place.path);
            return Err(Failure::new(Kind::NotFound, what).next("tiller providers custom list").into());
        };
        if !to.dry_run {
            place.write(self.options, without).await.map_err(Failure::from)?;
            self.values().remove(&secret_name(name)).await?;
        }
        let default = self.options.session.model.as_deref().filter(|id| id.starts_with(&format!("{name}/")));
        let verb = if to.dry_run { "would be" } else { "is" };
        let mut text = format!("{name} {verb} deleted from {}, with its stored key.\n", place.path);
        if let Some(default) = default {
            text += &format!("note: new sessions still use {default}; choose another with `tiller setup`.\n");
        }
        let body = ProviderRemoval { provider: name.to_owned(), removed: !to.dry_run, variable: None };
        Ok(Answer::new(&body, text))
    }
}
