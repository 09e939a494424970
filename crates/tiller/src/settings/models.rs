//! The models of each session, reached with the provider settings of its own directory and never
//! with
//! those of another project.

use super::{Follower, Settings};
use crate::{options::Options, wiring};
use agent::{Credentials, LanguageModel, ModelError, ModelInfo, Models};
use async_trait::async_trait;
use providers::Catalog;
use std::sync::{Arc, PoisonError, Weak};

impl Settings {
    /// Returns the model catalogue for these options. Sessions with the same provider settings
    /// share one.
    pub(crate) fn catalog(&self, options: &Options) -> Arc<Catalog> {
        let reach = options.providers.clone();
        let mut catalogs = self.catalogs.lock().unwrap_or_else(PoisonError::into_inner);
        // With recording there is one catalogue: all traffic goes into one file, which has one
        // writer.
        let known = catalogs.iter().find(|(known, _)| *known == reach || options.record.is_some());
        if let Some((_, catalog)) = known {
            return catalog.clone();
        }
        // The first catalogue is that of the process and stays; of the others, those in use are
        // kept.
        let mut first = true;
        catalogs.retain(|(_, catalog)| std::mem::take(&mut first) || Arc::strong_count(catalog) > 1);
        let catalog = Arc::new(wiring::catalog(options, self.environment.redactor(), &self.start));
        catalogs.push((reach, catalog.clone()));
        catalog
    }

    /// Reads the settings of the process's directory and applies them to its models. Invalid
    /// settings change
    /// nothing.
    pub(crate) async fn reload_models(&self) {
        if let Ok(snapshot) = self.read(&self.start).await {
            self.update_models(&snapshot.options);
        }
    }

    /// Applies new settings to the catalogue of the process.
    pub(super) fn update_models(&self, options: &Options) {
        let reach = options.providers.clone();
        let mut catalogs = self.catalogs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, catalog)) = catalogs.first_mut().filter(|(known, _)| *known != reach) {
            *known = reach;
            wiring::reconfigure(catalog, options);
        }
    }
}

/// The models of a session, which follow its settings.
pub(super) struct SessionModels {
    pub(super) settings: Arc<Settings>,
    pub(super) follower: Weak<Follower>,
    /// The initial catalogue, for use when the session's follower is gone.
    pub(super) catalog: Arc<Catalog>,
}

impl SessionModels {
    fn now(&self) -> Arc<Catalog> {
        match self.follower.upgrade() {
            Some(follower) => self.settings.catalog(&follower.last_snapshot().options),
            None => self.catalog.clone(),
        }
    }
}

#[async_trait]
impl Models for SessionModels {
    fn list(&self) -> Vec<ModelInfo> {
        self.now().list()
    }

    async fn default_id(&self) -> String {
        self.now().default_id().await
    }

    async fn look_again(&self) {
        self.now().look_again().await;
    }

    fn without_key(&self) -> Vec<ModelInfo> {
        self.now().without_key()
    }

    fn credentials(&self, id: &str) -> Credentials {
        self.now().credentials(id)
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        self.now().get(id).await
    }
}
