//! `settings/set` and `providers/configure`: write settings files.

use super::Services;
use crate::{
    config,
    options::{Directories, Secret},
    secrets::Values,
    setup::{self, ProviderSetup, SetupError, SetupPlace},
    stored_keys::secret_name,
    trust, wiring,
};
use acp::native::{ConfigureProvider, RequestContext, Scope, ServiceError, SetSetting};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system::AbsPath;

/// Stores a setting. It applies immediately, in running sessions too.
pub(super) async fn set(
    services: &Services,
    context: &RequestContext,
    set: SetSetting,
) -> Result<Value, ServiceError> {
    let name = ["kosmokrator.", "tiller."].iter().find_map(|root| set.path.strip_prefix(root));
    let before = services.settings_awaiting_review(context, set.scope).await;
    services.store(context, set.scope, name.unwrap_or(&set.path), &set.value, true).await?;
    services.stay_trusted(context, before).await?;
    services.runtime.settings_changed();
    Ok(json!({ "path": set.path, "scope": set.scope.id(), "configured": true }))
}

/// Stores the configuration of a provider: its key with the secrets, the rest in a settings file.
/// It
/// applies to every later request to a model.
pub(super) async fn configure_provider(
    services: &Services,
    context: &RequestContext,
    set: ConfigureProvider,
) -> Result<Value, ServiceError> {
    let _one_at_a_time = services.writing.lock().await;
    let options = &services.options;
    let system = wiring::local_system(options);
    let values = Values::new(services.environment.clone(), system, &options.directories);
    let wanted = ProviderSetup {
        provider: set.provider.clone(),
        model: set.model,
        base_url: set.base_url,
        key: set.api_key.as_ref().map(|key| Secret::new(key.reveal())),
        key_variable: None,
        wire: None,
    };
    services.environment.redactor().learn(wanted.key.iter().map(|key| key.reveal().to_owned()));
    let place = SetupPlace::new(&options.directories, &context.cwd, set.scope == Scope::Project);
    let stored = setup::set_up(options, &values, &place, &wanted, false).await?;
    services.settings.reload_models().await;
    services.runtime.settings_changed();
    // The effective options of the session's directory: a project's redirect counts only if
    // trusted.
    let now = services.current_options(context).await?;
    let name = set.provider.as_str();
    let known = match name {
        "openai" => Some(&now.providers.openai),
        "anthropic" => Some(&now.providers.anthropic),
        "gemini" => Some(&now.providers.gemini),
        _ => now.providers.custom.get(name),
    };
    let has_key = known.is_some_and(|provider| provider.api_key.is_some());
    let kept = values.stores().await.is_ok_and(|stores| stores.contains_key(&secret_name(name)));
    let url = known.and_then(|provider| provider.base_url.clone());
    let variable = known.map(|provider| provider.api_key_env.as_str()).unwrap_or_default();
    Ok(json!({
        "provider": name,
        "scope": set.scope.id(),
        "configured": true,
        "hasApiKey": has_key,
        "baseUrlConfigured": url.is_some(),
        "model": stored.model,
        "label": name,
        "description": format!("The key is in the environment variable {variable}, or with tiller's secrets."),
        "auth_mode": "api_key",
        "auth_status": if has_key { "configured" } else { "missing" },
        "source": if kept { "stored" } else { "environment" },
        "driver": name,
        "url": url,
        "default_model": now.session.model,
        "configured_api_key": has_key,
    }))
}

impl Services {
    /// Returns the ids of the project's settings that wait for trust before a change; `None` if the
    /// change
    /// is not in the project's file, or if they cannot be determined.
    pub(super) async fn settings_awaiting_review(
        &self,
        context: &RequestContext,
        scope: Scope,
    ) -> Option<BTreeSet<String>> {
        match scope {
            Scope::Project => trust::settings_awaiting_review(&self.options.directories, &context.cwd).await,
            Scope::Global => None,
        }
    }

    /// Trusts the settings that the user's client just stored, so that the user need not review
    /// them.
    pub(super) async fn stay_trusted(
        &self,
        context: &RequestContext,
        before: Option<BTreeSet<String>>,
    ) -> Result<(), ServiceError> {
        let Some(before) = before else { return Ok(()) };
        let trusted = trust::grant_written_settings(&self.options.directories, &context.cwd, &before).await;
        trusted.map_err(|error| self.failed(&error))
    }

    /// Stores a setting in the file of the scope. It applies from the next decision on.
    ///
    /// With `trusted` this holds for a project's file too, even if other items of that file wait
    /// for trust.
    pub(super) async fn store(
        &self,
        context: &RequestContext,
        scope: Scope,
        name: &str,
        value: &Value,
        trusted: bool,
    ) -> Result<(), ServiceError> {
        if self.options.served.is_some() && name.starts_with("serve.") {
            let message = format!("{name} is a setting of the server; only its administrator sets it");
            return Err(ServiceError::InvalidParams(message));
        }
        let _one_at_a_time = self.writing.lock().await;
        let file = path(&self.options.directories, &context.cwd, scope);
        let value = setup::store_setting(&self.options, &file, name, value).await?;
        let counts = trusted && scope == Scope::Project;
        if let (true, Some(value)) = (counts, config::Value::of_json(&value)) {
            self.settings.set_in_project(&context.cwd, name, value).await;
        }
        Ok(())
    }
}

impl From<SetupError> for ServiceError {
    fn from(error: SetupError) -> Self {
        match error {
            SetupError::Wrong(message) => Self::InvalidParams(message),
            SetupError::Failed(message) => Self::Failed(message),
        }
    }
}

fn path(directories: &Directories, cwd: &AbsPath, scope: Scope) -> AbsPath {
    match scope {
        Scope::Project => config::project_path(cwd),
        Scope::Global => config::user_path(directories),
    }
}
