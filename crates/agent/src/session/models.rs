//! The models of a session, and the one that its turns run on.

use crate::{LanguageModel, ModelError, ModelInfo, Models, RuntimeOptions, model::get_in_time};
use std::sync::Arc;

/// Where a session gets its models from. The one in use is kept between requests.
pub(crate) struct SessionModels {
    models: Arc<dyn Models>,
    current: Option<(String, Arc<dyn LanguageModel>)>,
    /// The settings that the current model was made by.
    made_by: Option<Arc<RuntimeOptions>>,
}

impl SessionModels {
    pub(crate) fn new(models: Arc<dyn Models>) -> Self {
        Self { models, current: None, made_by: None }
    }

    /// The model with an id, which is the current one from now on. One that cannot be had changes nothing.
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

    /// Forgets a model that was made by other settings than these.
    pub(super) fn follow(&mut self, now: Arc<RuntimeOptions>) {
        if !self.made_by.as_ref().is_some_and(|then| Arc::ptr_eq(then, &now)) {
            self.current = None;
            self.made_by = Some(now);
        }
    }

    /// The models to choose from.
    pub(crate) fn list(&self) -> Vec<ModelInfo> {
        self.models.list()
    }
}
