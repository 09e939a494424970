//! Stores a provider's setup: settings in a settings file, the key with the secrets.

use crate::{
    config::{self, ConfigError, SettingsFile},
    keys::secret_name,
    options::{Options, Secret},
    secrets::Values,
    wiring,
};
use serde_json::{Value, json};
use system::AbsPath;

/// Providers that have nothing to set up.
const WITHOUT_SETUP: [&str; 3] = ["local", "offline", "replay"];

/// The setup of a provider. `None` leaves a value as it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderSetup {
    pub(crate) provider: String,
    /// The model of new sessions, with or without the provider's prefix.
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) key: Option<Secret>,
    /// The environment variable that holds the key.
    pub(crate) key_variable: Option<String>,
}

/// The result of a setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SetupResult {
    /// The model of new sessions, if one was named.
    pub(crate) model: Option<String>,
    /// Whether a key was stored.
    pub(crate) key: bool,
    /// Whether settings were stored.
    pub(crate) settings: bool,
}

/// Why nothing, or not everything, was stored. Never contains the key.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    /// The input is invalid.
    #[error("{0}")]
    Wrong(String),
    /// The input is valid but could not be written.
    #[error("{0}")]
    Failed(String),
}

/// Stores a setup. Everything is checked before the first write.
pub(crate) async fn set_up(
    options: &Options,
    values: &Values,
    file: &AbsPath,
    wanted: &ProviderSetup,
) -> Result<SetupResult, SetupError> {
    let name = wanted.provider.as_str();
    let section = match name {
        "openai" | "anthropic" | "gemini" => format!("providers.{name}"),
        _ => format!("providers.custom.{name}"),
    };
    let alone = wanted.base_url.is_none() && wanted.key.is_none() && wanted.key_variable.is_none();
    if WITHOUT_SETUP.contains(&name) && !(alone && wanted.model.is_some()) {
        return Err(SetupError::Wrong(format!("Provider '{name}' has nothing to configure.")));
    }
    if section.starts_with("providers.custom") && !WITHOUT_SETUP.contains(&name) {
        let reachable = wanted.base_url.is_some()
            || options.providers.custom.get(name).is_some_and(|known| known.base_url.is_some());
        options.providers.clone().named(name).map_err(|error| SetupError::Wrong(error.to_string()))?;
        if !reachable {
            let message = format!("Provider '{name}' needs a base URL: where its API is.");
            return Err(SetupError::Wrong(message));
        }
    }
    let model = wanted.model.as_deref().map(|model| match model.strip_prefix(&format!("{name}/")) {
        Some(_) => model.to_owned(),
        None => format!("{name}/{model}"),
    });
    let settings = [
        (format!("{section}.base_url"), &wanted.base_url),
        (format!("{section}.api_key_env"), &wanted.key_variable),
        ("agent.default_model".to_owned(), &model.clone()),
    ];
    let settings: Vec<_> =
        settings.iter().filter_map(|(name, value)| Some((name.as_str(), json!(value.as_ref()?)))).collect();
    let changed = with_settings(options, file, &settings)?;
    if let Some(key) = &wanted.key {
        let failed =
            |error: anyhow::Error| SetupError::Failed(format!("the key cannot be stored: {error:#}"));
        let mut secrets = values.secrets().await.map_err(failed)?;
        secrets.insert(secret_name(name), key.reveal().to_owned());
        values.store(&secrets).await.map_err(failed)?;
    }
    if !settings.is_empty() {
        write(options, &changed).await?;
    }
    Ok(SetupResult { model, key: wanted.key.is_some(), settings: !settings.is_empty() })
}

/// Stores one setting in a file and returns the stored value. A list may be given as the text of a
/// JSON array, for wire formats without lists.
pub(crate) async fn store_setting(
    options: &Options,
    file: &AbsPath,
    name: &str,
    value: &Value,
) -> Result<Value, SetupError> {
    let changed = match with_settings(options, file, &[(name, value.clone())]) {
        Ok(changed) => Ok((changed, value.clone())),
        Err(wrong) => match value.as_str().and_then(|text| serde_json::from_str(text).ok()) {
            Some(list @ Value::Array(_)) => {
                with_settings(options, file, &[(name, list.clone())]).map(|changed| (changed, list))
            }
            _ => Err(wrong),
        },
    };
    let (changed, value) = changed?;
    write(options, &changed).await?;
    Ok(value)
}

/// Returns the file with the settings added, checked as if it had been read.
fn with_settings(
    options: &Options,
    path: &AbsPath,
    settings: &[(&str, Value)],
) -> Result<SettingsFile, SetupError> {
    let wrong = |error: ConfigError| SetupError::Wrong(error.to_string());
    let file = config::read(path.clone()).map_err(|error| SetupError::Failed(error.to_string()))?;
    let mut file = file.unwrap_or(SettingsFile { path: path.clone(), text: String::new() });
    for (name, value) in settings {
        file.text = config::with_setting(&file, &options.directories, name, value).map_err(wrong)?;
    }
    Ok(file)
}

/// Writes a settings file and creates its directory.
pub(crate) async fn write(options: &Options, file: &SettingsFile) -> Result<(), SetupError> {
    let failed = |error: system::SystemError| SetupError::Failed(error.to_string());
    let system = wiring::local_system(options);
    if let Some(directory) = file.path.parent() {
        system.create_dir_all(&directory).await.map_err(failed)?;
    }
    system.write(&file.path, file.text.as_bytes()).await.map_err(failed)
}
