//! Step-by-step guidance for very small models, which cannot use tools on their own.
//!
//! Models of fewer than about four billion parameters answer with calls that do nothing, or claim
//! work that they have not done. They are much better at three narrow tasks: choosing from a list,
//! rewriting a short file that they see, and answering from text that they see. [`GuidedModel`]
//! splits a request into such tasks. It asks the model for one at a time, most of them with a JSON
//! Schema, and assembles ordinary tool calls from the answers. A turn handles these calls like
//! those of any other model: the gate judges them, and the client sees them.
//!
//! The guide keeps no state: it derives the next task from the conversation each time.

mod block;
mod commands;
mod definitions;
mod kind;
mod messages;
mod project;
mod rename;
mod requests;
mod sections;
mod situation;
mod steps;
mod words;

use agent::{LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest};
use futures::{
    StreamExt,
    channel::mpsc,
    future,
    stream::{self, BoxStream},
};
use requests::Requests;
use situation::Situation;
use std::sync::Arc;
use steps::Guide;

/// A model that is guided through its work.
pub(crate) struct GuidedModel {
    model: Arc<dyn LanguageModel>,
}

impl GuidedModel {
    /// Guides a model.
    pub(crate) fn new(model: Arc<dyn LanguageModel>) -> Self {
        Self { model }
    }
}

impl LanguageModel for GuidedModel {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let Some(situation) = Situation::of(&request) else { return self.model.stream(request) };
        let (events, received) = mpsc::unbounded();
        let guide = Guide::new(Requests::new(self.model.clone(), request, events), situation);
        // The guide runs as part of the stream, so dropping the stream cancels its requests.
        let guide = stream::once(guide.run()).filter_map(|()| future::ready(None));
        stream::select(received, guide).boxed()
    }
}

#[cfg(test)]
mod tests;
