//! The keys of providers that `tiller setup` stored, beside the other secrets.

use crate::{
    config::{self, ConfigError, SettingsFile},
    options::{Folders, Secret},
    secrets,
};
use std::collections::BTreeMap;

/// Keys by the provider's name.
#[derive(Debug, Default)]
pub(crate) struct StoredKeys(BTreeMap<String, Secret>);

/// The name of a provider's key among the secrets.
pub(crate) fn secret_name(provider: &str) -> String {
    format!("provider.{provider}.api_key")
}

impl StoredKeys {
    /// Those that are stored now.
    pub(crate) fn read(folders: &Folders) -> Result<Self, ConfigError> {
        let Some(SettingsFile { path, text }) = config::read(secrets::path(folders))? else {
            return Ok(Self::default());
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // What it holds is not said, not even where it is wrong.
        let secrets: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).map_err(|error| {
            ConfigError::Unreadable { path, problem: format!("it is no JSON object (line {})", error.line()) }
        })?;
        let key = |(name, value): (String, serde_json::Value)| {
            let provider = name.strip_prefix("provider.")?.strip_suffix(".api_key")?;
            Some((provider.to_owned(), Secret::new(value.as_str()?)))
        };
        Ok(Self(secrets.into_iter().filter_map(key).collect()))
    }

    /// The key of a provider.
    pub(crate) fn of(&self, provider: &str) -> Option<Secret> {
        self.0.get(provider).cloned()
    }
}
