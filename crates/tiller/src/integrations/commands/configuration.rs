//! Configures integrations: accounts, permissions, enabled or not.

use super::{
    CommandContext,
    rows::{ConfiguredIntegration, SwitchedAnswer},
};
use crate::input::read_stdin;
use crate::{
    answer::Answer,
    args::{Configure, SettingsScope, Word},
    config::{self, Flags},
    failure::usage,
    integrations::{
        Store,
        accounts::Change,
        rows::{IntegrationState, PermissionRow},
    },
    settings::Settings,
    trust,
};
use ::integrations::{Accounts as _, Integration};
use anyhow::{Context, Result};
use serde_json::{Value, json};

impl CommandContext<'_> {
    pub(super) async fn configure(&self, configure: Configure) -> Result<Answer> {
        let integration = self.integration(&configure.name).await?;
        let (name, account) = (&integration.name, &configure.account);
        let fields = integration.fields();
        if configure.forget {
            let found = self.integrations.accounts.forget(name, Some(account)).await?;
            anyhow::ensure!(found, "Integration '{name}' has no account '{account}'");
        }
        let mut change = Change::new();
        for given in &configure.set {
            let (field, value) = pair(given, "--set")?;
            if fields.iter().any(|known| known.name == field && known.secret) {
                return Err(usage(format!(
                    "{field} is a secret, which does not belong on a command line; use --stdin {field} or --env {field}=VARIABLE"
                )));
            }
            change.insert(field, Some(value));
        }
        for given in &configure.env {
            let (field, variable) = pair(given, "--env")?;
            let value = self.environment.get(&variable);
            let value = value.with_context(|| format!("the variable {variable} is not set"))?;
            change.insert(field, Some(value.to_owned()));
        }
        let field = configure.stdin.clone().or_else(|| configure.api_key_stdin.then(|| "api_key".to_owned()));
        if let Some(field) = field {
            let value = read_stdin()?.trim_end_matches(['\n', '\r']).to_owned();
            anyhow::ensure!(!value.is_empty(), "the value on stdin is empty");
            change.insert(field, Some(value));
        }
        if configure.stdin_json {
            let given: Value = serde_json::from_str(&read_stdin()?).context("stdin is not a JSON object")?;
            for (field, value) in given.as_object().context("stdin is not a JSON object")? {
                let value = value.as_str().with_context(|| format!("the field {field} is not text"))?;
                change.insert(field.clone(), Some(value.to_owned()));
            }
        }
        change.extend(configure.unset.iter().map(|field| (field.clone(), None)));
        let secret: Vec<String> = change
            .iter()
            .filter(|(name, _)| fields.iter().any(|field| field.name == **name && field.secret))
            .filter_map(|(_, value)| value.clone())
            .collect();
        self.environment.redactor().learn(secret);
        self.integrations.accounts.change(name, account, &fields, change).await?;
        let store = self.store(&configure.scope);
        let enabled = match (configure.enable, configure.disable) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        if let Some(enabled) = enabled {
            store.set(&format!("integrations.{name}.enabled"), &json!(enabled)).await?;
        }
        for (operation, word) in [("read", configure.read), ("write", configure.write)] {
            if let Some(word) = word {
                let word = match word {
                    Word::Allow => "allow",
                    Word::Ask => "ask",
                    Word::Deny => "deny",
                };
                store.set(&format!("integrations.{name}.permissions.{operation}"), &json!(word)).await?;
            }
        }
        let (configured, text) = self.configured(&integration, account, &configure.scope).await?;
        Ok(Answer::new(configured, text))
    }

    pub(super) async fn switch(&self, name: &str, on: bool, scope: &SettingsScope) -> Result<Answer> {
        // A broken or missing integration can still be disabled.
        if on {
            self.integration(name).await?;
        }
        self.store(scope).set(&format!("integrations.{name}.enabled"), &json!(on)).await?;
        match self.integration(name).await {
            Ok(integration) => {
                let account = ::integrations::DEFAULT_ACCOUNT;
                let (configured, text) = self.configured(&integration, account, scope).await?;
                Ok(Answer::new(SwitchedAnswer::Installed(configured), text))
            }
            Err(_) => {
                let answer = SwitchedAnswer::Missing { integration: name.to_owned(), enabled: on };
                Ok(Answer::new(answer, format!("{name} is off\n")))
            }
        }
    }

    pub(super) fn store(&self, scope: &SettingsScope) -> Store<'_> {
        let directories = &self.options.directories;
        let path =
            if scope.project { config::project_path(self.cwd) } else { config::user_path(directories) };
        Store { system: self.system.clone(), directories, path }
    }

    /// Reports the configuration that applies now.
    async fn configured(
        &self,
        integration: &Integration,
        account: &str,
        scope: &SettingsScope,
    ) -> Result<(ConfiguredIntegration, String)> {
        let settings = Settings::new(self.environment, self.cwd, Flags::default())?;
        let now = settings.read(self.cwd).await?.options.switches();
        let state = IntegrationState::of(&self.integrations, integration, &now).await;
        let keys = self.integrations.accounts.account(&integration.name, account).await.fields();
        let own = now.of(&integration.name);
        let permission_id =
            |permission: Option<::integrations::Permission>| permission.unwrap_or(now.default).id();
        let (read, write) = (permission_id(own.read), permission_id(own.write));
        let waits = match scope.project {
            true => trust::settings_awaiting_review(&self.options.directories, self.cwd)
                .await
                .is_none_or(|ids| !ids.is_empty()),
            false => false,
        };
        let note = match waits {
            true => " The project's settings apply once they are trusted: `tiller trust`.",
            false => "",
        };
        let has = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
        let text = format!(
            "{} is {}; read {read}, write {write}; account {account} has {has}.{note}\n",
            integration.name,
            state.word()
        );
        let configured = ConfiguredIntegration {
            integration: integration.name.clone(),
            account: account.to_owned(),
            scope: if scope.project { "project" } else { "global" },
            enabled: own.enabled,
            credential_scope: "global",
            credential_keys: keys,
            permissions: PermissionRow { read, write },
            status: state.word(),
        };
        Ok((configured, text))
    }
}

/// Parses `FIELD=VALUE`.
fn pair(given: &str, option: &str) -> Result<(String, String)> {
    let pair = given.split_once('=');
    let (name, value) = pair.ok_or_else(|| usage(format!("{option} is NAME=VALUE, not {given:?}")))?;
    Ok((name.to_owned(), value.to_owned()))
}
