//! The keys that `tiller setup` and `tiller web configure` stored, in the file of secrets.

use crate::{
    config::{self, ConfigError, SettingsFile},
    options::{Directories, Secret},
    secrets,
};
use std::collections::BTreeMap;

/// Stored keys by their names in the file of secrets.
#[derive(Debug, Default)]
pub(crate) struct StoredKeys(BTreeMap<String, Secret>);

/// The name of a model provider's key in the file of secrets.
pub(crate) fn secret_name(provider: &str) -> String {
    format!("provider.{provider}.api_key")
}

/// The name of a search provider's key in the file of secrets.
pub(crate) fn search_secret_name(provider: &str) -> String {
    format!("web.{provider}.api_key")
}

impl StoredKeys {
    /// Reads the stored keys.
    pub(crate) fn read(directories: &Directories) -> Result<Self, ConfigError> {
        let Some(SettingsFile { path, text }) = config::read(secrets::path(directories))? else {
            return Ok(Self::default());
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // The message does not quote the file, even where it is malformed: it holds secrets.
        let secrets: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&text).map_err(|error| ConfigError::Unreadable {
                path,
                problem: format!("it is not a JSON object (line {})", error.line()),
            })?;
        let key = |(name, value): (String, serde_json::Value)| {
            let is_key = ["provider.", "web."].iter().any(|kind| name.starts_with(kind));
            let key = value.as_str().filter(|_| is_key && name.ends_with(".api_key"));
            key.map(Secret::new).map(|key| (name, key))
        };
        Ok(Self(secrets.into_iter().filter_map(key).collect()))
    }

    /// Returns the key of a model provider.
    pub(crate) fn of(&self, provider: &str) -> Option<Secret> {
        self.0.get(&secret_name(provider)).cloned()
    }

    /// Returns the key of a search provider.
    pub(crate) fn of_search(&self, provider: &str) -> Option<Secret> {
        self.0.get(&search_secret_name(provider)).cloned()
    }
}
