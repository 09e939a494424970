//! Where the key of a provider comes from.

use crate::{
    environment::Environment,
    options::{Options, Provider},
    secrets::Store,
    stored_keys::secret_name,
};
use std::collections::BTreeMap;

/// Google's own programs accept this variable beside the usual one.
const OTHER_GEMINI_VARIABLE: (&str, &str) = ("GEMINI_API_KEY", "GOOGLE_API_KEY");

/// Where a provider's key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// This environment variable.
    Variable(String),
    /// The stored secrets.
    Stored(Store),
}

impl KeySource {
    /// The name of the variable, or the word for the store.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Variable(name) => name,
            Self::Stored(store) => store.word(),
        }
    }

    /// The text for it in the output of commands.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Variable(name) => format!("environment:{name}"),
            Self::Stored(store) => store.word().to_owned(),
        }
    }
}

/// Returns the options of a provider that has any.
pub(crate) fn provider<'a>(options: &'a Options, name: &str) -> Option<&'a Provider> {
    match name {
        "openai" => Some(&options.providers.openai),
        "anthropic" => Some(&options.providers.anthropic),
        "gemini" | "google" => Some(&options.providers.gemini),
        name => options.providers.custom.get(name),
    }
}

/// Returns where the key of a provider comes from; `None` if it has none.
pub(crate) fn key_source(
    name: &str,
    provider: &Provider,
    environment: &Environment,
    stores: &BTreeMap<String, Store>,
) -> Option<KeySource> {
    let (usual, other) = OTHER_GEMINI_VARIABLE;
    let second = (provider.api_key_env == usual).then_some(other);
    let mut variables = std::iter::once(provider.api_key_env.as_str()).chain(second);
    match variables.find(|variable| environment.get(variable).is_some()) {
        Some(variable) => Some(KeySource::Variable(variable.to_owned())),
        None => stores.get(&secret_name(name)).copied().map(KeySource::Stored),
    }
}
