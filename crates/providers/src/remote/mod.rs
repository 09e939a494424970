//! A model behind HTTP, over any wire.

mod exchange;
mod images;
mod server;
mod target;

pub(crate) use server::Remote;
pub(crate) use target::{WireTarget, format};

use agent::{LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest};
use exchange::Exchange;
use futures::stream::BoxStream;
use std::sync::Arc;

/// A model of a vendor, of a user-configured server, or of a server on this machine.
pub(crate) struct RemoteModel(pub(crate) Arc<Remote>);

impl LanguageModel for RemoteModel {
    fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        Exchange::new(self.0.clone(), request).stream()
    }
}
