//! Settings from environment variables.

use super::{ConfigError, KEYS, Place, Value};
use crate::{
    environment::Environment,
    options::{Options, Secret},
    stored_keys::StoredKeys,
};
use ::integrations::SearchProvider;
use std::collections::BTreeMap;

/// Environment variables that set a setting, with the setting's name.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    ("TILLER_MODEL", "agent.default_model"),
    ("TILLER_MODE", "agent.mode"),
    ("TILLER_PERMISSION_MODE", "tools.default_permission_mode"),
    ("OPENAI_BASE_URL", "providers.openai.base_url"),
    ("ANTHROPIC_BASE_URL", "providers.anthropic.base_url"),
    ("GEMINI_BASE_URL", "providers.gemini.base_url"),
];

/// Ollama's own variable for its address; sets `providers.local.ollama`.
pub(crate) const OLLAMA_HOST: &str = "OLLAMA_HOST";

/// Applies the environment to the options, and takes each provider's key from its variable, or
/// else from the stored keys.
pub(super) fn apply(
    options: &mut Options,
    environment: &Environment,
    stored: &StoredKeys,
) -> Result<(), ConfigError> {
    for (variable, name) in VARIABLES {
        let Some(text) = environment.get(variable) else { continue };
        let key = KEYS.iter().find(|key| key.name == *name).expect("VARIABLES names settings that exist");
        (key.set)(options, "", &Value::Text(text.to_owned())).map_err(|problem| ConfigError::BadValue {
            place: Place::Variable(variable),
            key: key.name.to_owned(),
            problem,
        })?;
    }
    // The variable belongs to another program, so an invalid value is only logged.
    match environment.get(OLLAMA_HOST).map(providers::ollama_address) {
        Some(Ok(address)) => options.providers.local.ollama = Some(address),
        Some(Err(problem)) => {
            tracing::warn!("the environment variable {OLLAMA_HOST} {problem}; it is ignored")
        }
        None => {}
    }
    options.commands.login = environment.login_shell(options.commands.ask_login_shell);
    let shared = options.served.clone();
    let vendors = [
        ("openai", &mut options.providers.openai),
        ("anthropic", &mut options.providers.anthropic),
        ("gemini", &mut options.providers.gemini),
    ];
    let custom = options.providers.custom.iter_mut().map(|(name, provider)| (name.as_str(), provider));
    for (name, provider) in vendors.into_iter().chain(custom) {
        // Google's own programs accept either name.
        let other = (provider.api_key_env == "GEMINI_API_KEY").then(|| environment.get("GOOGLE_API_KEY"));
        let key = environment.get(&provider.api_key_env).or(other.flatten()).map(Secret::new);
        let stored = stored.of(name);
        // An address from the environment belongs to the key from there.
        let address = format!("providers.{name}.base_url");
        let is_of_environment =
            VARIABLES.iter().any(|(variable, set)| *set == address && environment.get(variable).is_some());
        let is_spare = |stored: &Secret| !is_of_environment && key.as_ref().is_some_and(|key| key != stored);
        provider.spare_key = stored.clone().filter(is_spare);
        let shared = || shared.as_ref()?.shared.of_provider(name, provider);
        provider.api_key = key.or(stored).or_else(shared);
    }
    options.integrations.web.keys = search_keys(environment, stored);
    for (id, _) in SearchProvider::ALL {
        if let Some(key) = shared.as_ref().and_then(|served| served.shared.of_search(id)) {
            options.integrations.web.keys.entry(id).or_insert(key);
        }
    }
    Ok(())
}

/// Returns the keys of search providers.
fn search_keys(environment: &Environment, stored: &StoredKeys) -> BTreeMap<&'static str, Secret> {
    let key = |(id, provider): (&'static str, SearchProvider)| {
        let key = environment.get(provider.key_variable()?).map(Secret::new);
        Some((id, key.or_else(|| stored.of_search(id))?))
    };
    SearchProvider::ALL.into_iter().filter_map(key).collect()
}
