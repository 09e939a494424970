//! Tries a setup before it is stored: one request for the provider's list of models.

use super::ProviderSetup;
use crate::{
    environment::Environment,
    failure::{Failure, Kind},
    options::{Options, Provider, Secret},
    wiring,
};
use ::providers::{Catalog, Wire, known_provider};
use agent::{ModelError, Models as _};
use system::AbsPath;

/// Which models a provider has, as far as that is known.
#[derive(Debug)]
pub(super) struct Models {
    /// Their full ids, the provider's default first.
    pub(super) ids: Vec<String>,
    /// Whether the list is the provider's own and complete.
    pub(super) complete: bool,
}

/// A setup as if it were stored.
pub(super) struct Trial {
    catalog: Catalog,
    provider: String,
    /// Whether a request would go to an address and with a key that can be tested.
    testable: bool,
}

impl Trial {
    /// Prepares the setup. Sends nothing.
    pub(super) fn new(
        options: &Options,
        environment: &Environment,
        cwd: &AbsPath,
        wanted: &ProviderSetup,
    ) -> Self {
        let mut options = options.clone();
        let name = wanted.provider.as_str();
        let known = known_provider(name);
        if let Some(provider) = provider(&mut options, name) {
            if let Some(url) = wanted.base_url.as_deref() {
                provider.base_url = Some(url.to_owned());
            }
            if let (None, Some(known)) = (&provider.base_url, known.filter(|known| !known.built_in)) {
                provider.base_url = Some(known.base_url.to_owned());
                provider.api_key_env = known.key_variable.to_owned();
            }
            if let Some(variable) = &wanted.key_variable {
                provider.api_key_env.clone_from(variable);
            }
            provider.wire = match wanted.wire {
                Some("chat") => Wire::Chat,
                Some("responses") => Wire::Responses,
                Some("anthropic") => Wire::Anthropic,
                Some("gemini") => Wire::Gemini,
                _ => provider.wire,
            };
            let of_variable = environment.get(&provider.api_key_env).map(Secret::new);
            let named = wanted.key_variable.is_some();
            provider.api_key = match &wanted.key {
                Some(key) => Some(key.clone()),
                None if named => of_variable,
                None => of_variable.or_else(|| provider.api_key.clone()),
            };
        }
        // The list of models must not be headed by a default that was chosen before.
        options.session.model = None;
        let is_vendor = known.is_some_and(|known| known.built_in);
        let testable = provider(&mut options, name)
            .is_some_and(|provider| (is_vendor && provider.api_key.is_some()) || provider.base_url.is_some());
        Self {
            catalog: wiring::catalog(&options, environment.redactor(), cwd),
            provider: name.to_owned(),
            testable,
        }
    }

    /// Asks the provider for its list of models. Returns whether it was asked.
    ///
    /// # Errors
    /// Why the provider cannot be used.
    pub(super) async fn test(&self) -> Result<bool, Failure> {
        if !self.testable && self.provider != "local" {
            return Ok(false);
        }
        match self.catalog.check_provider(&self.provider).await.error {
            None => Ok(true),
            Some(error) => {
                let kind = match &error {
                    ModelError::Auth(_) => Kind::Auth,
                    ModelError::Transport(_) => Kind::Network,
                    ModelError::NotConfigured(_) => Kind::Config,
                    _ => Kind::Provider,
                };
                Err(Failure::new(kind, format!("the setup was not stored: {error}"))
                    .hint("--offline stores it without a test"))
            }
        }
    }

    /// Returns the provider's models. `ask` allows a request to its server.
    pub(super) async fn models(&self, ask: bool) -> Models {
        match ask {
            true => self.catalog.discover().await,
            false => self.catalog.discover_here().await,
        }
        let prefix = format!("{}/", self.provider);
        let listed = self.catalog.list().into_iter().map(|model| model.id);
        let ids: Vec<_> = listed.filter(|id| id.starts_with(&prefix)).collect();
        let own = self.catalog.listings().into_iter().find(|listing| listing.provider == self.provider);
        let asked = own.is_some_and(|listing| listing.address.is_some() && listing.models.is_some());
        Models { complete: !ids.is_empty() && (asked || self.provider == "local"), ids }
    }
}

fn provider<'a>(options: &'a mut Options, name: &str) -> Option<&'a mut Provider> {
    match name {
        "openai" => Some(&mut options.providers.openai),
        "anthropic" => Some(&mut options.providers.anthropic),
        "gemini" => Some(&mut options.providers.gemini),
        name => options.providers.named(name).ok(),
    }
}
