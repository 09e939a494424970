//! A model behind HTTP, over any wire: builds its requests and learns from its server's refusals.

use crate::{
    Wire, anthropic, chat, gemini,
    http::{Endpoint, Exchange, Fold, Http, Peer, Tuning},
    learned::{Learned, Lesson, Optional, Refusal, Traits},
    responses,
};
use agent::{LanguageModel, Message, ModelError, ModelEvent, ModelInfo, ModelRequest};
use bytes::Bytes;
use futures::stream::BoxStream;
use serde_json::Value;
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

/// How a model is reached.
pub(crate) struct Remote {
    pub(crate) info: ModelInfo,
    pub(crate) base_url: String,
    /// The candidate wires. The first is used unless a refusal names another. Never empty.
    pub(crate) lines: Vec<Line>,
    pub(crate) http: Arc<Http>,
    pub(crate) tuning: Tuning,
    pub(crate) learned: Arc<Learned>,
}

/// One wire to a model, with its address.
pub(crate) struct Line {
    /// Never [`Wire::Auto`].
    pub(crate) wire: Wire,
    pub(crate) endpoint: Endpoint,
    pub(crate) peer: Peer,
}

impl Line {
    /// Returns whether the address is OpenAI's own, which accepts parameters that other servers
    /// reject.
    fn is_openai(&self) -> bool {
        self.endpoint.url.host_str() == Some("api.openai.com")
    }

    /// Returns a new fold for an answer over this wire.
    pub(crate) fn fold(&self) -> Box<dyn Fold> {
        match self.wire {
            Wire::Auto | Wire::Chat => Box::<chat::ChatFold>::default(),
            Wire::Responses => Box::<responses::ResponsesFold>::default(),
            Wire::Anthropic => Box::<anthropic::AnthropicFold>::default(),
            Wire::Gemini => Box::<gemini::GeminiFold>::default(),
        }
    }

    /// The request options that this wire can leave out.
    fn options(&self) -> &'static [&'static Optional] {
        match self.wire {
            Wire::Auto | Wire::Chat => chat::OPTIONS,
            Wire::Responses => responses::OPTIONS,
            Wire::Anthropic => anthropic::OPTIONS,
            Wire::Gemini => gemini::OPTIONS,
        }
    }
}

impl Remote {
    /// Returns the traits learned of the model so far.
    pub(crate) fn traits(&self) -> Traits {
        self.learned.of(&self.base_url, &self.lines[0].peer.model)
    }

    /// Stores the traits that an accepted request was built from.
    pub(crate) fn remember(&self, traits: Traits) {
        self.learned.remember(&self.base_url, &self.lines[0].peer.model, traits);
    }

    /// Returns the index of the line to use.
    pub(crate) fn line(&self, traits: &Traits) -> usize {
        self.lines.iter().position(|line| Some(line.wire) == traits.wire).unwrap_or(0)
    }

    /// Builds the body of a request.
    pub(crate) fn body(&self, request: &ModelRequest, traits: &Traits) -> Bytes {
        let line = &self.lines[self.line(traits)];
        let info = ModelInfo {
            images: self.info.images && !traits.no_images,
            max_output: self.info.max_output.min(traits.max_output.unwrap_or(u64::MAX)),
            ..self.info.clone()
        };
        let model = &line.peer.model;
        let body = match line.wire {
            Wire::Auto | Wire::Chat => chat::body(request, &info, model, traits, line.is_openai()),
            Wire::Responses => responses::body(request, &info, model, traits),
            Wire::Anthropic => anthropic::body(request, &info, model, traits),
            Wire::Gemini => gemini::body(request, &info, model, traits),
        };
        Bytes::from(body)
    }

    /// Learns from a refusal and returns how to proceed. `may_switch` allows a change of the wire.
    pub(crate) fn learn(
        &self,
        (status, said): (u16, &[u8]),
        sent: &[u8],
        traits: &mut Traits,
        may_switch: bool,
    ) -> Lesson {
        let line = &self.lines[self.line(traits)];
        let Some(refusal) = Refusal::read(status, said) else { return Lesson::None };
        if let Some(other) = refusal.other_wire(line.wire) {
            if !may_switch || !self.lines.iter().any(|line| line.wire == other) {
                return Lesson::None;
            }
            traits.wire = Some(other);
            return Lesson::Anew;
        }
        if refusal.is_of_own_answers() {
            return Lesson::Forget;
        }
        if line.wire == Wire::Chat && !traits.wants_reasoning && refusal.wants_reasoning() {
            traits.wants_reasoning = true;
            return Lesson::Anew;
        }
        // A server may refuse the answer limit and state in the same message the context size that
        // the limit does not fit into.
        traits.context_size = refusal.context_size().or(traits.context_size);
        let sent_json: Value = serde_json::from_slice(sent).unwrap_or_default();
        let has_tools = line.wire == Wire::Chat && sent_json.get("tools").is_some();
        if has_tools && !traits.no_tools && refusal.is_of_tools() {
            traits.no_tools = true;
            return Lesson::Anew;
        }
        if self.info.images && !traits.no_images && has_images(sent) && refusal.is_of_images() {
            traits.no_images = true;
            return Lesson::Anew;
        }
        if refusal.teach(&sent_json, line.options(), traits) {
            return Lesson::Anew;
        }
        if line.wire == Wire::Chat && refusal.teach_members(&sent_json, traits) {
            return Lesson::Anew;
        }
        // Messages requires a limit, so it cannot be left out; it can only be lowered.
        let limit = sent_json.get("max_tokens").filter(|_| line.wire == Wire::Anthropic);
        if let Some(most) = refusal.smaller_limit(limit) {
            traits.max_output = Some(most);
            return Lesson::Anew;
        }
        if let Some(size) = refusal.context_size() {
            // Do not resend: the conversation has to become shorter first.
            let mut known = self.traits();
            known.context_size = Some(size);
            self.remember(known);
        }
        Lesson::None
    }
}

/// Clears the model name of each answer, so that it is sent like an answer of another model,
/// without the data that only its own model understands. Returns whether any answer changed.
pub(crate) fn forget(messages: &mut [Message]) -> bool {
    let mut any = false;
    for message in messages {
        if let Message::Assistant(answer) = message {
            any |= !answer.model.is_empty();
            answer.model.clear();
        }
    }
    any
}

/// Returns whether a body contains an image, in the form of any wire.
fn has_images(body: &[u8]) -> bool {
    let marks: [&[u8]; 4] = [b"\"image_url\"", b"\"input_image\"", b"\"media_type\"", b"\"inlineData\""];
    marks.iter().any(|mark| memchr::memmem::find(body, mark).is_some())
}
