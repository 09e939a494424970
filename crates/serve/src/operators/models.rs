//! Models whose tokens count against what their user may spend.

use super::User;
use agent::{
    Credentials, LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest, Models, Price, Usage,
};
use async_trait::async_trait;
use futures::{StreamExt as _, stream, stream::BoxStream};
use std::sync::Arc;

/// The models of a user.
pub(super) struct MeteredModels {
    pub(super) models: Arc<dyn Models>,
    pub(super) user: Arc<User>,
}

#[async_trait]
impl Models for MeteredModels {
    fn list(&self) -> Vec<ModelInfo> {
        self.models.list()
    }

    async fn default_id(&self) -> String {
        self.models.default_id().await
    }

    async fn is_unconfigured(&self) -> bool {
        self.models.is_unconfigured().await
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let model = self.models.get(id).await?;
        Ok(Arc::new(MeteredModel { model, user: Arc::clone(&self.user) }))
    }

    async fn look_again(&self) {
        self.models.look_again().await;
    }

    fn without_key(&self) -> Vec<ModelInfo> {
        self.models.without_key()
    }

    fn credentials(&self, id: &str) -> Credentials {
        self.models.credentials(id)
    }
}

/// A model whose tokens are counted.
struct MeteredModel {
    model: Arc<dyn LanguageModel>,
    user: Arc<User>,
}

impl LanguageModel for MeteredModel {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        if let Err(refused) = self.user.may_spend() {
            return stream::once(async { Err(refused.into()) }).boxed();
        }
        let mut meter =
            Meter { user: Arc::clone(&self.user), price: self.info().price, used: Usage::default() };
        let events = self.model.stream(request);
        events.inspect(move |event| meter.read(event)).boxed()
    }
}

/// Counts the tokens of one request, once it has ended or was dropped.
struct Meter {
    user: Arc<User>,
    price: Option<Price>,
    used: Usage,
}

impl Meter {
    fn read(&mut self, event: &Result<ModelEvent, ModelError>) {
        if let Ok(ModelEvent::Usage(used)) = event {
            self.used = used.priced(self.price.as_ref());
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.used != Usage::default() {
            self.user.spend(self.used);
        }
    }
}
