//! The options of model providers.

use ::providers::{LocalOptions, Wire};
use agent::ToolProfile;
use std::{collections::BTreeMap, fmt, time::Duration};

/// The names of built-in providers.
pub(crate) const BUILT_IN: [&str; 6] = ["openai", "anthropic", "gemini", "local", "offline", "replay"];

/// A name that no custom provider can have: it is reserved, or malformed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be the name of a custom provider; choose another")]
pub(crate) struct ProviderNameError(String);

/// How models are reached.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Providers {
    pub(crate) openai: Provider,
    pub(crate) anthropic: Provider,
    pub(crate) gemini: Provider,
    /// Custom providers by name, which is the prefix of their models' ids.
    pub(crate) custom: BTreeMap<String, Provider>,
    pub(crate) local: LocalOptions,
    /// The default idle timeout of model servers; a provider's own setting takes precedence.
    pub(crate) silence: Option<Duration>,
    /// How many tools models get; chosen by the size of the model if `None`.
    pub(crate) tool_profile: Option<ToolProfile>,
    /// Whether models may use the web search that their vendor hosts.
    pub(crate) hosted_search: bool,
}

/// A model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Provider {
    /// The base URL; the vendor's own if `None`.
    pub(crate) base_url: Option<String>,
    /// The variable that holds the key.
    pub(crate) api_key_env: String,
    /// The key, from that variable or from the stored keys.
    pub(crate) api_key: Option<Secret>,
    /// The stored key where the variable has another one, for when the provider has refused that.
    pub(crate) spare_key: Option<Secret>,
    pub(crate) wire: Wire,
    /// The idle timeout: how long the server may send nothing before the request fails.
    pub(crate) silence: Option<Duration>,
}

/// A secret that is never shown; `Debug` prints a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Default for Providers {
    fn default() -> Self {
        Self {
            openai: Provider::with_key_in("OPENAI_API_KEY"),
            anthropic: Provider::with_key_in("ANTHROPIC_API_KEY"),
            gemini: Provider::with_key_in("GEMINI_API_KEY"),
            custom: BTreeMap::new(),
            local: LocalOptions::default(),
            silence: None,
            tool_profile: None,
            hosted_search: false,
        }
    }
}

impl Providers {
    /// Returns the providers that take a key, with their names.
    pub(crate) fn named_ones(&self) -> impl Iterator<Item = (&str, &Provider)> {
        let vendors = [("openai", &self.openai), ("anthropic", &self.anthropic), ("gemini", &self.gemini)];
        vendors.into_iter().chain(self.custom.iter().map(|(name, provider)| (name.as_str(), provider)))
    }

    /// Returns the custom provider of a name, after adding it if it is new.
    ///
    /// Its key is in the variable `NAME_API_KEY` unless another variable is configured.
    ///
    /// # Errors
    /// If the name is reserved or invalid.
    pub(crate) fn named(&mut self, name: &str) -> Result<&mut Provider, ProviderNameError> {
        if BUILT_IN.contains(&name) || name.is_empty() || name.contains('/') {
            return Err(ProviderNameError(name.to_owned()));
        }
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let variable = name.chars().map(letter).collect::<String>() + "_API_KEY";
        Ok(self.custom.entry(name.to_owned()).or_insert_with(|| Provider::with_key_in(&variable)))
    }

    /// Returns the keys of all providers.
    pub(crate) fn keys(&self) -> Vec<String> {
        let vendors = [&self.openai, &self.anthropic, &self.gemini];
        let providers = vendors.into_iter().chain(self.custom.values());
        let keys = providers.flat_map(|provider| [&provider.api_key, &provider.spare_key]);
        keys.flatten().map(|key| key.reveal().to_owned()).collect()
    }
}

impl Provider {
    fn with_key_in(variable: &str) -> Self {
        Self {
            base_url: None,
            api_key_env: variable.to_owned(),
            api_key: None,
            spare_key: None,
            wire: Wire::default(),
            silence: None,
        }
    }
}

impl Secret {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the text itself, for the code that sends it.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
