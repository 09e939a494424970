//! OpenAI Chat Completions, the wire that nearly every server speaks.

mod answer;
mod kept;
mod request;
mod stream;

use crate::http::{Endpoint, Exchange, Http, Peer, Tuning};
use agent::{LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest};
use futures::stream::BoxStream;
use std::sync::Arc;

/// The name under which the wire keeps its own form of items.
const WIRE: &str = "chat";

/// A model behind Chat Completions.
pub(crate) struct ChatModel {
    pub(crate) info: ModelInfo,
    pub(crate) http: Arc<Http>,
    pub(crate) endpoint: Endpoint,
    pub(crate) peer: Peer,
    pub(crate) tuning: Tuning,
}

impl LanguageModel for ChatModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let official = self.endpoint.url.host_str() == Some("api.openai.com");
        let body = request::body(&request, &self.info, &self.peer.model, official);
        Exchange {
            http: self.http.clone(),
            endpoint: self.endpoint.clone(),
            body,
            peer: self.peer.clone(),
            tuning: self.tuning,
            fold: stream::ChatFold::default,
        }
        .stream()
    }
}
