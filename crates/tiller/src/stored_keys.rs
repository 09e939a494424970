//! The keys that `tiller setup` and `tiller web configure` stored, in the file of secrets.

use crate::{
    config::{self, ConfigError, SettingsFile},
    options::{Directories, Secret},
    secrets::{self, Keyring},
};
use futures::future::join_all;
use std::collections::BTreeMap;

/// Stored keys by their names in the file of secrets.
#[derive(Debug, Default)]
pub(crate) struct StoredKeys {
    keys: BTreeMap<String, Secret>,
    missing: Vec<String>,
}

/// The name of a model provider's key in the file of secrets.
pub(crate) fn secret_name(provider: &str) -> String {
    format!("provider.{provider}.api_key")
}

/// The name of a search provider's key in the file of secrets.
pub(crate) fn search_secret_name(provider: &str) -> String {
    format!("web.{provider}.api_key")
}

impl StoredKeys {
    /// Reads the stored keys. Those that the keyring does not return are missing, with the reasons.
    ///
    /// # Errors
    /// If the file of secrets cannot be read.
    pub(crate) async fn read(directories: &Directories, keyring: &Keyring) -> Result<Self, ConfigError> {
        let Some(SettingsFile { path, text }) = config::read(secrets::path(directories))? else {
            return Ok(Self::default());
        };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        // The message does not quote the file, even where it is malformed: it holds secrets.
        let entries: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&text).map_err(|error| ConfigError::Unreadable {
                path,
                problem: format!("it is not a JSON object (line {})", error.line()),
            })?;
        let keys = entries.into_iter().filter(|(name, _)| {
            ["provider.", "web."].iter().any(|kind| name.starts_with(kind)) && name.ends_with(".api_key")
        });
        let read = join_all(keys.map(async |(name, entry)| match secrets::keyring_id(&entry) {
            Some(id) => (keyring.get(id).await.map(|value| Some(Secret::new(&value))), name),
            None => (Ok(entry.as_str().map(Secret::new)), name),
        }));
        let mut stored = Self::default();
        for (key, name) in read.await {
            match key {
                Ok(Some(key)) => drop(stored.keys.insert(name, key)),
                Ok(None) => {}
                Err(error) => stored.missing.push(format!("the key {name} is in the keyring: {error}")),
            }
        }
        Ok(stored)
    }

    /// Why keys that are stored are not here.
    pub(crate) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the key of a model provider.
    pub(crate) fn of(&self, provider: &str) -> Option<Secret> {
        self.keys.get(&secret_name(provider)).cloned()
    }

    /// Returns the key of a search provider.
    pub(crate) fn of_search(&self, provider: &str) -> Option<Secret> {
        self.keys.get(&search_secret_name(provider)).cloned()
    }
}
