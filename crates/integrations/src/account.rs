//! The user's accounts at a service, and whether they are complete.

use crate::{
    auth::{Field, Scheme},
    integration::{Function, Integration},
};
use async_trait::async_trait;
use std::{collections::BTreeMap, fmt};

/// The account that is used if none is named.
pub const DEFAULT_ACCOUNT: &str = "default";

/// The field with the URL of the user's own installation.
pub const BASE_URL: &str = "base_url";

/// The field that is `true` if that URL is on this machine or in a private network.
pub const LOCAL: &str = "local";

/// The fields of an account. `Debug` prints their names only.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Account(BTreeMap<String, String>);

/// The store of the user's accounts.
#[async_trait]
pub trait Accounts: Send + Sync {
    /// Returns the names of an integration's accounts that have any field.
    async fn names(&self, integration: &str) -> Vec<String>;

    /// Returns an account. The implementation registers its secrets with the redactor.
    async fn account(&self, integration: &str, account: &str) -> Account;
}

impl Account {
    /// Returns a field's value, unless it is unset or empty.
    pub fn get(&self, field: &str) -> Option<&str> {
        self.0.get(field).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the names of all non-empty fields.
    pub fn fields(&self) -> Vec<String> {
        self.0.iter().filter(|(_, value)| !value.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    /// Returns whether the account has every required field: for this function, or for at least one
    /// function of the integration.
    pub fn is_complete(&self, integration: &Integration, function: Option<&Function>) -> bool {
        let settings = integration.auth.settings.iter().filter(|field| field.required);
        let has_place = integration.address.base_url.is_some() || self.get(BASE_URL).is_some();
        let mut settings = settings.map(|field| &field.name);
        has_place
            && settings.all(|name| self.get(name).is_some())
            && match function {
                Some(function) => {
                    function.endpoint.security.is_empty() || self.satisfied(integration, function).is_some()
                }
                None => integration.functions.values().any(|function| {
                    function.endpoint.security.is_empty() || self.satisfied(integration, function).is_some()
                }),
            }
    }

    /// Returns the fields that must be set before a function can be called, empty if none. If
    /// several authentication schemes are possible, the one with the fewest missing fields counts.
    pub fn missing(&self, integration: &Integration, function: &Function) -> Vec<Field> {
        let lacks = |field: &Field| self.get(&field.name).is_none();
        let mut missing: Vec<Field> = integration
            .auth
            .settings
            .iter()
            .filter(|field| field.required && lacks(field))
            .cloned()
            .collect();
        if integration.address.base_url.is_none() && self.get(BASE_URL).is_none() {
            let description = "The address of your own installation".to_owned();
            missing.push(Field { name: BASE_URL.to_owned(), description, secret: false, required: true });
        }
        if !function.endpoint.security.is_empty() && self.satisfied(integration, function).is_none() {
            let fields = function.endpoint.security.iter().filter_map(|names| {
                let schemes = names.iter().map(|name| integration.auth.schemes.get(name));
                let schemes = schemes.collect::<Option<Vec<_>>>()?;
                let spoken = schemes.iter().all(|scheme| scheme.is_supported());
                spoken.then(|| schemes.iter().flat_map(|scheme| scheme.fields()).filter(lacks).collect())
            });
            missing.extend(fields.min_by_key(Vec::len).unwrap_or_default());
        }
        missing
    }

    /// Returns the first set of schemes for which the account has all fields.
    pub(crate) fn satisfied<'a>(
        &self,
        integration: &'a Integration,
        function: &Function,
    ) -> Option<Vec<&'a Scheme>> {
        let has = |scheme: &&Scheme| {
            scheme.is_supported() && scheme.fields().iter().all(|field| self.get(&field.name).is_some())
        };
        let sets = function.endpoint.security.iter().map(|names| {
            let schemes = names.iter().map(|name| integration.auth.schemes.get(name).filter(has));
            schemes.collect::<Option<Vec<_>>>()
        });
        // Prefer a set with credentials to an anonymous call.
        let mut satisfied: Vec<_> = sets.flatten().collect();
        satisfied.sort_by_key(Vec::is_empty);
        satisfied.into_iter().next()
    }
}

impl FromIterator<(String, String)> for Account {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(fields: T) -> Self {
        Self(fields.into_iter().collect())
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
