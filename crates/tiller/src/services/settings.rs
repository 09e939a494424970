//! `settings/set` and `providers/configure`: settings files, written.

use super::Services;
use crate::{
    config::{self, SettingsFile},
    options::Folders,
    wiring,
};
use acp::native::{ConfigureProvider, Scene, Scope, ServiceError, SetSetting};
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, System};

/// Stores a setting. It holds for what begins after it: requests of this layer, and sessions of the next start.
pub(super) async fn set(services: &Services, on: &Scene, set: SetSetting) -> Result<Value, ServiceError> {
    let name = ["kosmokrator.", "tiller."].iter().find_map(|root| set.path.strip_prefix(root));
    services.store(on, set.scope, name.unwrap_or(&set.path), &set.value).await?;
    Ok(json!({ "path": set.path, "scope": set.scope.id(), "configured": true }))
}

/// Stores how a provider is reached.
pub(super) async fn configure_provider(
    services: &Services,
    on: &Scene,
    set: ConfigureProvider,
) -> Result<Value, ServiceError> {
    let name = set.provider.as_str();
    let (settings, known) = match name {
        "openai" => ("providers.openai".to_owned(), Some(&services.options.openai)),
        "anthropic" => ("providers.anthropic".to_owned(), Some(&services.options.anthropic)),
        "local" | "offline" | "replay" => {
            let message = format!("Provider '{name}' has nothing to configure.");
            return Err(ServiceError::InvalidParams(message));
        }
        _ => (format!("providers.custom.{name}"), services.options.custom.get(name)),
    };
    let variable = match known {
        Some(provider) => provider.api_key_env.clone(),
        None => {
            services.options.clone().custom(name).map_err(ServiceError::InvalidParams)?.api_key_env.clone()
        }
    };
    if set.api_key.is_some() {
        return Err(ServiceError::Failed(format!(
            "Keys are read from the environment and never stored: start tiller with {variable} set."
        )));
    }
    let model = set.model.as_deref().map(|model| match model.strip_prefix(&format!("{name}/")) {
        Some(_) => model.to_owned(),
        None => format!("{name}/{model}"),
    });
    if let Some(url) = &set.base_url {
        services.store(on, set.scope, &format!("{settings}.base_url"), &json!(url)).await?;
    }
    if let Some(model) = &model {
        services.store(on, set.scope, "agent.default_model", &json!(model)).await?;
    }
    let has_key = known.is_some_and(|provider| provider.api_key.is_some());
    let url = set.base_url.or_else(|| known.and_then(|provider| provider.base_url.clone()));
    Ok(json!({
        "provider": name,
        "scope": set.scope.id(),
        "configured": true,
        "hasApiKey": has_key,
        "baseUrlConfigured": url.is_some(),
        "model": model,
        "label": name,
        "description": format!("The key is in the environment variable {variable}."),
        "auth_mode": "api_key",
        "auth_status": if has_key { "configured" } else { "missing" },
        "source": "environment",
        "driver": name,
        "url": url,
        "default_model": model.or_else(|| services.options.model.clone()),
        "configured_api_key": has_key,
    }))
}

impl Services {
    /// Stores a setting in a file of the scope. It holds from the next start on.
    pub(super) async fn store(
        &self,
        on: &Scene,
        scope: Scope,
        name: &str,
        value: &Value,
    ) -> Result<(), ServiceError> {
        let _one_at_a_time = self.writing.lock().await;
        let path = path(&self.options.folders, &on.cwd, scope);
        let failed = |error: &dyn std::fmt::Display| ServiceError::Failed(error.to_string());
        let file = config::read(path.clone()).map_err(|error| failed(&error))?;
        let file = file.unwrap_or(SettingsFile { path: path.clone(), text: String::new() });
        let text = config::with_setting(&file, &self.options.folders, name, value)
            .map_err(|error| ServiceError::InvalidParams(error.to_string()))?;
        let system: Arc<dyn System> = wiring::local_system(&self.options);
        if let Some(folder) = path.parent() {
            system.create_dir_all(&folder).await.map_err(|error| failed(&error))?;
        }
        system.write(&path, text.as_bytes()).await.map_err(|error| failed(&error))
    }
}

fn path(folders: &Folders, cwd: &AbsPath, scope: Scope) -> AbsPath {
    match scope {
        Scope::Project => config::project_path(cwd),
        Scope::Global => config::user_path(folders),
    }
}
