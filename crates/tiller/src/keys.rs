//! The provider keys that `tiller setup` stored, in the file of secrets.

use crate::{
    config::{self, ConfigError, SettingsFile},
    options::{Directories, Secret},
    secrets,
};
use std::collections::BTreeMap;

/// Stored keys by provider name.
#[derive(Debug, Default)]
pub(crate) struct StoredKeys(BTreeMap<String, Secret>);

/// The name of a provider's key in the file of secrets.
pub(crate) fn secret_name(provider: &str) -> String {
    format!("provider.{provider}.api_key")
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
            let provider = name.strip_prefix("provider.")?.strip_suffix(".api_key")?;
            Some((provider.to_owned(), Secret::new(value.as_str()?)))
        };
        Ok(Self(secrets.into_iter().filter_map(key).collect()))
    }

    /// Returns the key of a provider.
    pub(crate) fn of(&self, provider: &str) -> Option<Secret> {
        self.0.get(provider).cloned()
    }
}
