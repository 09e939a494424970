//! A scripted model that reports how much of its answers was read.

use super::{FakeModel, Reply};
use crate::{LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest};
use futures::{StreamExt as _, stream::BoxStream};
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A [`FakeModel`] that reports how many of its events were read, and when an answer was dropped.
pub struct WatchedModel {
    inner: Arc<FakeModel>,
    /// The number of events read, over all answers.
    pub taken: watch::Sender<usize>,
    /// Cancelled when the first answer ended or was dropped.
    pub dropped: CancellationToken,
}

impl WatchedModel {
    /// Creates a model with the id `fake/model`.
    pub fn new(script: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        let (taken, dropped) = (watch::Sender::default(), CancellationToken::new());
        Arc::new(Self { inner: FakeModel::new(script), taken, dropped })
    }
}

impl LanguageModel for WatchedModel {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let (taken, dropped) = (self.taken.clone(), self.dropped.clone().drop_guard());
        let count = move |_: &_| {
            let _until_dropped = &dropped;
            taken.send_modify(|taken| *taken += 1);
        };
        self.inner.stream(request).inspect(count).boxed()
    }
}
