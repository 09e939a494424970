//! OpenAI Responses, without state on the server.

mod answer;
mod request;
mod stream;

use crate::http::{Endpoint, Exchange, Http, Peer, Tuning};
use agent::{LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest};
use futures::stream::BoxStream;
use std::sync::Arc;

/// The name under which the wire keeps its own form of items.
const WIRE: &str = "responses";

/// A model behind Responses.
pub(crate) struct ResponsesModel {
    pub(crate) info: ModelInfo,
    pub(crate) http: Arc<Http>,
    pub(crate) endpoint: Endpoint,
    pub(crate) peer: Peer,
    pub(crate) tuning: Tuning,
}

impl LanguageModel for ResponsesModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let body = request::body(&request, &self.info, &self.peer.model);
        Exchange {
            http: self.http.clone(),
            endpoint: self.endpoint.clone(),
            body,
            peer: self.peer.clone(),
            tuning: self.tuning,
            fold: stream::ResponsesFold::default,
        }
        .stream()
    }
}
