//! A model's server: builds its requests and learns from its refusals.

use super::target::WireTarget;
use crate::{
    Wire,
    http::{Http, Tuning},
    refused_options::{ModelQuirks, Refusal, RefusalMemory, RefusalRemedy},
    wire_format::BodyInput,
};
use agent::{Message, ModelInfo, ModelRequest};
use bytes::Bytes;
use serde_json::Value;
use std::{collections::HashSet, sync::Arc};

/// How a model is reached.
pub(crate) struct Remote {
    pub(crate) info: ModelInfo,
    pub(crate) base_url: String,
    /// The candidate wires. The first is used unless a refusal names another. Never empty.
    pub(crate) targets: Vec<WireTarget>,
    pub(crate) http: Arc<Http>,
    pub(crate) tuning: Tuning,
    pub(crate) refused_options: Arc<RefusalMemory>,
    pub(crate) hosted_search: bool,
}

impl Remote {
    /// Returns the quirks learned of the model so far.
    pub(crate) fn quirks(&self) -> ModelQuirks {
        self.refused_options.of(&self.base_url, &self.targets[0].peer.model)
    }

    /// Records the quirks that an accepted request was built from.
    pub(crate) fn remember(&self, quirks: ModelQuirks) {
        self.refused_options.remember(&self.base_url, &self.targets[0].peer.model, quirks);
    }

    /// Returns the images that the model refused in this process.
    pub(crate) fn refused_images(&self) -> HashSet<u64> {
        self.refused_options.refused_images(&self.base_url, &self.targets[0].peer.model)
    }

    /// Stores images that the model refused.
    pub(crate) fn refuse_images(&self, images: Vec<u64>) {
        self.refused_options.refuse_images(&self.base_url, &self.targets[0].peer.model, images);
    }

    /// Stores the quirks of the model for later processes.
    pub(crate) async fn store_quirks(&self) {
        self.refused_options.store(&self.base_url, &self.targets[0].peer.model).await;
    }

    /// Returns the index of the wire to use.
    pub(crate) fn target(&self, quirks: &ModelQuirks) -> usize {
        self.targets.iter().position(|target| Some(target.wire) == quirks.wire).unwrap_or(0)
    }

    /// Builds the body of a request.
    pub(crate) fn body(&self, request: &ModelRequest, quirks: &ModelQuirks) -> Bytes {
        let target = &self.targets[self.target(quirks)];
        let mut info = self.info.clone();
        info.abilities.images &= !quirks.no_images;
        info.limits.max_output = info.limits.max_output.min(quirks.max_output.unwrap_or(u64::MAX));
        let model = &target.peer.model;
        let is_openai = target.is_openai();
        let hosted_search = self.hosted_search;
        let input = BodyInput { request, info: &info, model, quirks, is_openai, hosted_search };
        Bytes::from((target.format().body)(&input))
    }

    /// Learns from a refusal and returns how to proceed. `may_switch` allows a change of the wire.
    pub(crate) fn learn(
        &self,
        (status, body): (u16, &[u8]),
        sent: &[u8],
        quirks: &mut ModelQuirks,
        may_switch: bool,
    ) -> RefusalRemedy {
        let target = &self.targets[self.target(quirks)];
        let Some(refusal) = Refusal::read(status, body) else { return RefusalRemedy::None };
        if let Some(other) = refusal.other_wire(target.wire) {
            if !may_switch || !self.targets.iter().any(|target| target.wire == other) {
                return RefusalRemedy::None;
            }
            quirks.wire = Some(other);
            return RefusalRemedy::Rebuild;
        }
        if refusal.concerns_own_answers() {
            return RefusalRemedy::DropOpaque;
        }
        if target.wire == Wire::Chat && !quirks.wants_reasoning && refusal.wants_reasoning() {
            quirks.wants_reasoning = true;
            return RefusalRemedy::Rebuild;
        }
        // A server may refuse the answer limit and state in the same message the context size that
        // the limit does not fit into.
        quirks.context_size = refusal.context_size().or(quirks.context_size);
        let sent_json: Value = serde_json::from_slice(sent).unwrap_or_default();
        let has_tools = target.wire == Wire::Chat && sent_json.get("tools").is_some();
        if has_tools && !quirks.no_tools && refusal.concerns_tools() {
            quirks.no_tools = true;
            return RefusalRemedy::Rebuild;
        }
        if has_images(sent) && refusal.concerns_one_image() {
            return RefusalRemedy::DropImage;
        }
        if self.info.abilities.images && !quirks.no_images && has_images(sent) && refusal.concerns_images() {
            quirks.no_images = true;
            return RefusalRemedy::Rebuild;
        }
        if refusal.record_refused_options(&sent_json, target.format().options, quirks) {
            return RefusalRemedy::Rebuild;
        }
        if target.wire == Wire::Chat && refusal.record_refused_members(&sent_json, quirks) {
            return RefusalRemedy::Rebuild;
        }
        // Messages requires a limit, so it cannot be left out; it can only be lowered.
        let limit = sent_json.get("max_tokens").filter(|_| target.wire == Wire::Anthropic);
        if let Some(most) = refusal.smaller_limit(limit) {
            quirks.max_output = Some(most);
            return RefusalRemedy::Rebuild;
        }
        if let Some(size) = refusal.context_size() {
            // Do not resend: the conversation has to become shorter first.
            let mut known = self.quirks();
            known.context_size = Some(size);
            self.remember(known);
        }
        RefusalRemedy::None
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
