//! The models of a session, and the one that its turns use.

use crate::{LanguageModel, ModelError, ModelInfo, Models, RuntimeOptions, model::get_in_time};
use std::sync::Arc;

/// The source of a session's models. The model in use is cached between requests.
pub(crate) struct SessionModels {
    models: Arc<dyn Models>,
    current: Option<(String, Arc<dyn LanguageModel>)>,
    /// The settings under which the current model was created.
    made_by: Option<Arc<RuntimeOptions>>,
}

impl SessionModels {
    pub(crate) fn new(models: Arc<dyn Models>) -> Self {
        Self { models, current: None, made_by: None }
    }

    /// Returns the model with an id and makes it the current one. On error the current model stays.
    pub(super) async fn get(&mut self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        if let Some((held, model)) = &self.current
            && held == id
        {
            return Ok(model.clone());
        }
        let model = get_in_time(self.models.as_ref(), id).await?;
        self.current = Some((id.to_owned(), model.clone()));
        Ok(model)
    }

    /// Drops a model that was created under other settings.
    pub(super) fn follow(&mut self, now: Arc<RuntimeOptions>) {
        if !self.made_by.as_ref().is_some_and(|then| Arc::ptr_eq(then, &now)) {
            self.current = None;
            self.made_by = Some(now);
        }
    }

    /// Returns the models to choose from.
    pub(crate) fn list(&self) -> Vec<ModelInfo> {
        self.models.list()
    }
}
