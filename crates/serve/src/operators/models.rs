//! Models of a server: their requests wait for a place, and their tokens count against what their
//! user may spend.

use super::{
    User,
    fair::{PlaceAt, Places},
};
use agent::{
    Credentials, LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest, Models, Price, Usage,
};
use async_trait::async_trait;
use futures::{
    StreamExt as _,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// The interval of signs of life while a request waits for its place.
const ALIVE_INTERVAL: Duration = Duration::from_secs(5);

type Event = Result<ModelEvent, ModelError>;

/// The models of a user.
pub(super) struct ServedModels {
    pub(super) models: Arc<dyn Models>,
    pub(super) user: Arc<User>,
}

#[async_trait]
impl Models for ServedModels {
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
        Ok(Arc::new(ServedModel { model, user: Arc::clone(&self.user) }))
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

/// A model of a user.
struct ServedModel {
    model: Arc<dyn LanguageModel>,
    user: Arc<User>,
}

impl LanguageModel for ServedModel {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Event> {
        if let Err(refused) = self.user.may_spend() {
            return stream::once(async { Err(refused.into()) }).boxed();
        }
        let (model, user) = (Arc::clone(&self.model), Arc::clone(&self.user));
        let places = user.operators.places.clone();
        let provider = provider(&model.info().id).to_owned();
        let entering = {
            let (places, provider, owner) = (places.clone(), provider.clone(), user.owner.clone());
            Box::pin(async move { places.enter(&provider, owner).await })
        };
        let mut meter = Meter {
            user,
            price: model.info().price,
            model: model.info().id.clone(),
            places,
            provider,
            waits_since: Some(Instant::now()),
            used: Usage::default(),
        };
        let state = State::Waits { entering, model, request: Box::new(request) };
        let events = stream::unfold(state, |state| async move { state.next().await });
        events.inspect(move |event| meter.read(event)).boxed()
    }
}

/// Returns the provider in a model's id.
fn provider(id: &str) -> &str {
    id.split_once('/').map_or(id, |(provider, _)| provider)
}

/// A request.
enum State {
    /// It waits for its place.
    Waits { entering: BoxFuture<'static, PlaceAt>, model: Arc<dyn LanguageModel>, request: Box<ModelRequest> },
    /// It has its place until it ends.
    Runs { events: BoxStream<'static, Event>, place: PlaceAt },
}

impl State {
    async fn next(mut self) -> Option<(Event, Self)> {
        loop {
            match self {
                Self::Waits { mut entering, model, request } => tokio::select! {
                    biased;
                    place = &mut entering => self = Self::Runs { events: model.stream(*request), place },
                    () = tokio::time::sleep(ALIVE_INTERVAL) => {
                        return Some((Ok(ModelEvent::Alive), Self::Waits { entering, model, request }));
                    }
                },
                Self::Runs { mut events, place } => {
                    let event = events.next().await?;
                    return Some((event, Self::Runs { events, place }));
                }
            }
        }
    }
}

/// Counts the tokens of one request, once it has ended or was dropped.
struct Meter {
    user: Arc<User>,
    price: Option<Price>,
    /// The model's id.
    model: String,
    places: Places,
    provider: String,
    /// When the request was made, until the answer begins.
    waits_since: Option<Instant>,
    used: Usage,
}

impl Meter {
    fn read(&mut self, event: &Event) {
        use ModelEvent::{Reasoning, Text, ToolCall};
        if matches!(event, Ok(Text(_) | Reasoning(_) | ToolCall(_)))
            && let Some(since) = self.waits_since.take()
        {
            metrics::histogram!("tiller_model_first_token_seconds", "model" => self.model.clone())
                .record(since.elapsed());
        }
        match event {
            Ok(ModelEvent::Usage(used)) => self.used = used.priced(self.price.as_ref()),
            // The provider counts the requests of all users together.
            Ok(ModelEvent::Retrying { limited: true, after, .. }) => {
                self.places.close(&self.provider, *after);
            }
            _ => {}
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if self.used == Usage::default() {
            return;
        }
        for (direction, tokens) in [("input", self.used.input), ("output", self.used.output)] {
            let model = self.model.clone();
            metrics::counter!("tiller_tokens_total", "model" => model, "direction" => direction)
                .increment(tokens);
        }
        self.user.spend(self.used);
    }
}
