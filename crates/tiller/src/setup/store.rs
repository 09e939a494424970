//! Stores a provider's setup: settings in a settings file, the key with the secrets.

use crate::{
    config::{self, ConfigError, SettingsFile},
    failure::{Failure, Kind},
    options::{Directories, Options, Secret},
    secrets::{Stored, Values, Wanted, commands::describe},
    stored_keys::secret_name,
    trust, wiring,
};
use ::providers::known_provider;
use serde_json::{Value, json};
use system::{AbsPath, FileStamp};

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
    /// The API that it speaks, as in the settings.
    pub(crate) wire: Option<&'static str>,
}

/// The file that gets the settings of a setup.
#[derive(Debug, Clone)]
pub(crate) struct SetupPlace {
    pub(crate) path: AbsPath,
    /// The project's directory if it is the project's file.
    project: Option<AbsPath>,
}

/// The result of a setup.
#[derive(Debug, Default)]
pub(crate) struct SetupResult {
    /// The model of new sessions, if one was named.
    pub(crate) model: Option<String>,
    /// The base URL that was stored.
    pub(crate) base_url: Option<String>,
    /// Where the key was stored, if one was given.
    pub(crate) key: Option<Stored>,
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

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let kind = if matches!(error, SetupError::Wrong(_)) { Kind::Config } else { Kind::Internal };
        Self::new(kind, error.to_string())
    }
}

impl SetupPlace {
    /// The user's file, or that of the project in a directory.
    pub(crate) fn new(directories: &Directories, cwd: &AbsPath, project: bool) -> Self {
        match project {
            true => Self { path: config::project_path(cwd), project: Some(cwd.clone()) },
            false => Self { path: config::user_path(directories), project: None },
        }
    }

    /// The word for it in the output of commands.
    pub(crate) fn scope(&self) -> &'static str {
        if self.project.is_some() { "project" } else { "global" }
    }

    /// Writes the file. The user's own change of a project's file stays trusted.
    pub(crate) async fn write(&self, options: &Options, text: String) -> Result<(), SetupError> {
        let failed = |error: anyhow::Error| SetupError::Failed(format!("{error:#}"));
        let file = SettingsFile { path: self.path.clone(), text };
        let Some(project) = &self.project else { return write(options, &file).await };
        let directories = &options.directories;
        let awaiting_review = trust::settings_awaiting_review(directories, project).await;
        write(options, &file).await?;
        match awaiting_review {
            Some(before) => {
                trust::grant_written_settings(directories, project, &before).await.map_err(failed)
            }
            None => Ok(()),
        }
    }
}

/// The name of the group of settings of a provider.
pub(crate) fn section(provider: &str) -> String {
    match provider {
        "openai" | "anthropic" | "gemini" => format!("providers.{provider}"),
        _ => format!("providers.custom.{provider}"),
    }
}

/// Stores a setup. Everything is checked before the first write. A trial writes nothing.
pub(crate) async fn set_up(
    options: &Options,
    values: &Values,
    place: &SetupPlace,
    wanted: &ProviderSetup,
    trial: bool,
) -> Result<SetupResult, SetupError> {
    let wanted = &completed(options, wanted)?;
    let name = wanted.provider.as_str();
    let section = section(name);
    let model = wanted.model.as_deref().map(|model| match model.strip_prefix(&format!("{name}/")) {
        Some(_) => model.to_owned(),
        None => format!("{name}/{model}"),
    });
    let settings = [
        (format!("{section}.base_url"), wanted.base_url.clone()),
        (format!("{section}.api_key_env"), wanted.key_variable.clone()),
        (format!("{section}.wire"), wanted.wire.map(str::to_owned)),
        ("agent.default_model".to_owned(), model.clone()),
    ];
    let settings: Vec<_> =
        settings.iter().filter_map(|(name, value)| Some((name.as_str(), json!(value.as_ref()?)))).collect();
    let changed = with_settings(options, &place.path, &settings).await?;
    let mut result =
        SetupResult { model, base_url: wanted.base_url.clone(), key: None, settings: !settings.is_empty() };
    if trial {
        return Ok(result);
    }
    if let Some(key) = &wanted.key {
        let stored = values.set(&secret_name(name), key.reveal(), Wanted::Auto).await;
        let failed =
            |error: anyhow::Error| SetupError::Failed(format!("the key cannot be stored: {error:#}"));
        result.key = Some(stored.map_err(failed)?);
    }
    if result.settings {
        place.write(options, changed.text).await?;
    }
    Ok(result)
}

/// Adds what is known of the provider, and checks that it can be set up.
fn completed(options: &Options, wanted: &ProviderSetup) -> Result<ProviderSetup, SetupError> {
    let mut wanted = wanted.clone();
    let name = wanted.provider.clone();
    let alone = wanted.base_url.is_none()
        && wanted.key.is_none()
        && wanted.key_variable.is_none()
        && wanted.wire.is_none();
    if WITHOUT_SETUP.contains(&name.as_str()) {
        return match alone && wanted.model.is_some() {
            true => Ok(wanted),
            false => Err(SetupError::Wrong(format!("Provider '{name}' has nothing to configure."))),
        };
    }
    if section(&name).starts_with("providers.custom") {
        let known = options.providers.custom.get(&name);
        options.providers.clone().named(&name).map_err(|error| SetupError::Wrong(error.to_string()))?;
        if let (None, Some(vendor)) = (known, known_provider(&name)) {
            let usual = format!("{}_API_KEY", name.to_uppercase());
            wanted.base_url.get_or_insert_with(|| vendor.base_url.to_owned());
            if vendor.key_variable != usual {
                wanted.key_variable.get_or_insert_with(|| vendor.key_variable.to_owned());
            }
        }
        if wanted.base_url.is_none() && known.is_none_or(|known| known.base_url.is_none()) {
            let message = format!("Provider '{name}' needs a base URL: where its API is.");
            return Err(SetupError::Wrong(message));
        }
    }
    Ok(wanted)
}

/// Stores one setting in a file and returns the stored value. A list may be given as the text of a
/// JSON array, for wire formats without lists.
pub(crate) async fn store_setting(
    options: &Options,
    file: &AbsPath,
    name: &str,
    value: &Value,
) -> Result<Value, SetupError> {
    let changed = match with_settings(options, file, &[(name, value.clone())]).await {
        Ok(changed) => Ok((changed, value.clone())),
        Err(wrong) => match value.as_str().and_then(|text| serde_json::from_str(text).ok()) {
            Some(list @ Value::Array(_)) => {
                with_settings(options, file, &[(name, list.clone())]).await.map(|changed| (changed, list))
            }
            _ => Err(wrong),
        },
    };
    let (changed, value) = changed?;
    write(options, &changed).await?;
    Ok(value)
}

/// Adds text to a list in a settings file, unless the list has it.
pub(crate) async fn add_to_list(
    options: &Options,
    path: &AbsPath,
    name: &str,
    item: &str,
) -> Result<(), SetupError> {
    let mut file = read(options, path).await?;
    let changed = config::with_item(&file, &options.directories, name, item);
    file.text = changed.map_err(|error| SetupError::Wrong(error.to_string()))?;
    write(options, &file).await
}

/// Reads a settings file; a missing one is empty.
async fn read(options: &Options, path: &AbsPath) -> Result<SettingsFile, SetupError> {
    let file = config::read_through(&*wiring::local_system(options), path.clone()).await;
    let file = file.map_err(|error| SetupError::Failed(error.to_string()))?;
    Ok(file.unwrap_or(SettingsFile { path: path.clone(), text: String::new() }))
}

/// Returns the file with the settings added, checked as if it had been read.
async fn with_settings(
    options: &Options,
    path: &AbsPath,
    settings: &[(&str, Value)],
) -> Result<SettingsFile, SetupError> {
    let wrong = |error: ConfigError| SetupError::Wrong(error.to_string());
    let mut file = read(options, path).await?;
    for (name, value) in settings {
        file.text = config::with_setting(&file, &options.directories, name, value).map_err(wrong)?;
    }
    Ok(file)
}

/// Writes a settings file and creates its directory. If the file names the schema beside it and
/// there is none, the schema is written too.
pub(crate) async fn write(options: &Options, file: &SettingsFile) -> Result<(), SetupError> {
    let failed = |error: system::SystemError| SetupError::Failed(error.to_string());
    let system = wiring::local_system(options);
    if let Some(directory) = file.path.parent() {
        system.create_dir_all(&directory).await.map_err(failed)?;
        let schema = directory.join(config::SCHEMA_FILE);
        if config::names_schema(&file.text) && !FileStamp::of(&schema).exists() {
            system.write(&schema, format!("{:#}\n", config::schema()).as_bytes()).await.map_err(failed)?;
        }
    }
    system.write(&file.path, file.text.as_bytes()).await.map_err(failed)
}

/// Describes where a key was stored, and why not in the keyring.
pub(crate) fn with_stored_key(options: &Options, provider: &str, stored: Option<&Stored>) -> String {
    let Some(Stored { store, why_not }) = stored else { return String::new() };
    let mut text = format!("The key of {provider} is {}.\n", describe(options, *store));
    if let Some(why_not) = why_not {
        text += &format!("note: it is not in a keyring: {why_not}\n");
    }
    text
}
