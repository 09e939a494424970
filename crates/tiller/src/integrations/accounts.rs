//! The user's accounts: secret fields are stored with the other secrets, the others in a file of
//! their own. They belong to the user, not to a project.

use crate::{
    options::Directories,
    secrets::{self, Values},
};
use ::integrations::{Account, Accounts, BASE_URL, Field, LOCAL};
use anyhow::{Result, bail};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System};

/// The stored accounts.
pub(crate) struct StoredAccounts {
    values: Values,
    system: Arc<dyn System>,
    path: AbsPath,
    /// Held from reading to writing, so that concurrent changes are not lost.
    one_at_a_time: tokio::sync::Mutex<()>,
}

/// Changes to the fields of an account; `None` removes a field.
pub(crate) type Change = BTreeMap<String, Option<String>>;

impl StoredAccounts {
    pub(super) fn new(values: Values, system: Arc<dyn System>, directories: &Directories) -> Self {
        let path = directories.data.join("integrations").join("accounts.json");
        Self { values, system, path, one_at_a_time: tokio::sync::Mutex::default() }
    }

    /// Changes an account.
    ///
    /// # Errors
    /// If the integration has no such field; the message names its fields.
    pub(crate) async fn change(
        &self,
        integration: &str,
        account: &str,
        fields: &[Field],
        change: Change,
    ) -> Result<()> {
        let plain = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        };
        if !plain(account) {
            bail!("an account's name is letters, digits, `_` and `-`, not {account:?}");
        }
        let is_secret = |name: &String| -> Result<bool> {
            match fields.iter().find(|field| field.name == *name) {
                Some(field) => Ok(field.secret),
                // Every account may have these.
                None if name == BASE_URL || name == LOCAL => Ok(false),
                None => {
                    let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
                    bail!("Integration '{integration}' has no field '{name}'; it has {}", names.join(", "))
                }
            }
        };
        let (mut hidden, mut open) = (Vec::new(), Vec::new());
        for (name, value) in change {
            if is_secret(&name)? { hidden.push((name, value)) } else { open.push((name, value)) }
        }
        let _one_at_a_time = self.one_at_a_time.lock().await;
        if !hidden.is_empty() {
            let mut secrets = self.values.secrets().await?;
            for (name, value) in hidden {
                let key = key(integration, account, &name);
                match value {
                    Some(value) => secrets.insert(key, value),
                    None => secrets.remove(&key),
                };
            }
            self.values.store(&secrets).await?;
        }
        if !open.is_empty() {
            let mut all = secrets::read(self.system.as_ref(), &self.path).await?;
            let own = member(member(&mut all, integration), account);
            for (name, value) in open {
                match value {
                    Some(value) => own.insert(name, json!(value)),
                    None => own.remove(&name),
                };
            }
            secrets::write(self.system.as_ref(), &self.path, &Value::Object(all)).await?;
        }
        Ok(())
    }

    /// Removes one account, or all accounts of an integration. Returns whether there was one.
    pub(super) async fn forget(&self, integration: &str, account: Option<&str>) -> Result<bool> {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let mut secrets = self.values.secrets().await?;
        let prefix = match account {
            Some(account) => format!("integrations.{integration}.{account}."),
            None => format!("integrations.{integration}."),
        };
        let before = secrets.len();
        secrets.retain(|key, _| !key.starts_with(&prefix));
        let mut found = secrets.len() != before;
        if found {
            self.values.store(&secrets).await?;
        }
        let mut all = secrets::read(self.system.as_ref(), &self.path).await?;
        let removed = match account {
            Some(account) => all.get_mut(integration).and_then(|own| own.as_object_mut()?.remove(account)),
            None => all.remove(integration),
        };
        if removed.is_some() {
            found = true;
            secrets::write(self.system.as_ref(), &self.path, &Value::Object(all)).await?;
        }
        Ok(found)
    }

    /// Returns every field of every account of an integration.
    async fn of(&self, integration: &str) -> BTreeMap<String, BTreeMap<String, String>> {
        let mut accounts: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let prefix = format!("integrations.{integration}.");
        match self.values.secrets().await {
            Ok(secrets) => {
                for (key, value) in secrets {
                    let rest = key.strip_prefix(&prefix).and_then(|rest| rest.split_once('.'));
                    let Some((account, field)) = rest else { continue };
                    accounts.entry(account.to_owned()).or_default().insert(field.to_owned(), value);
                }
            }
            Err(error) => tracing::warn!("the secrets cannot be read: {error:#}"),
        }
        let open = secrets::read(self.system.as_ref(), &self.path).await.unwrap_or_else(|error| {
            tracing::warn!("{error:#}");
            Map::new()
        });
        for (account, fields) in open.get(integration).and_then(Value::as_object).into_iter().flatten() {
            let own = accounts.entry(account.clone()).or_default();
            for (field, value) in fields.as_object().into_iter().flatten() {
                own.extend(value.as_str().map(|value| (field.clone(), value.to_owned())));
            }
        }
        accounts.retain(|_, fields| !fields.is_empty());
        accounts
    }
}

#[async_trait]
impl Accounts for StoredAccounts {
    async fn names(&self, integration: &str) -> Vec<String> {
        self.of(integration).await.into_keys().collect()
    }

    async fn account(&self, integration: &str, account: &str) -> Account {
        self.of(integration).await.remove(account).unwrap_or_default().into_iter().collect()
    }
}

fn key(integration: &str, account: &str, field: &str) -> String {
    format!("integrations.{integration}.{account}.{field}")
}

/// Returns the object member of that name; a missing one, or one of another type, is replaced.
fn member<'a>(all: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let member = all.entry(name.to_owned()).or_insert_with(|| json!({}));
    if !member.is_object() {
        *member = json!({});
    }
    match member {
        Value::Object(member) => member,
        _ => unreachable!("it was made an object"),
    }
}
