//! The output of the wires' folds.

use crate::http::Peer;
use agent::{ANSWER_BYTES, MalformedArguments, ModelEvent};
use serde_json::Value;
use std::{borrow::Cow, collections::VecDeque};

/// The queue of one answer's events, in order, between the wire and the reader.
#[derive(Debug, Default)]
pub(crate) struct EventSink {
    events: VecDeque<ModelEvent>,
    /// Whether the answer has begun; after that the request cannot be retried. Token counts alone
    /// do not count as a beginning.
    pub(crate) began: bool,
    /// Whether the model has given its stop reason; only the end of the stream is missing then.
    pub(crate) finished: bool,
    /// Whether the end of the stream was received.
    pub(crate) ended: bool,
    /// The number of events that could not be parsed.
    pub(crate) malformed: u32,
    /// Bytes of text, reasoning and arguments received so far, whether passed on or still buffered.
    received: usize,
}

impl EventSink {
    /// Appends text. Consecutive texts that the reader has not taken yet are merged: this adds no
    /// latency and saves the reader work in a burst.
    pub(crate) fn text(&mut self, text: impl AsRef<str> + Into<String>) {
        if text.as_ref().is_empty() {
            return;
        }
        self.count(text.as_ref().len());
        match self.events.back_mut() {
            Some(ModelEvent::Text(before)) => before.push_str(text.as_ref()),
            _ => self.push(ModelEvent::Text(text.into())),
        }
    }

    /// Appends reasoning for display, merged like text.
    pub(crate) fn reasoning(&mut self, text: impl AsRef<str> + Into<String>) {
        if text.as_ref().is_empty() {
            return;
        }
        self.count(text.as_ref().len());
        match self.events.back_mut() {
            Some(ModelEvent::Reasoning(before)) => before.push_str(text.as_ref()),
            _ => self.push(ModelEvent::Reasoning(text.into())),
        }
    }

    /// Queues a notice with the provider's reason for refusing, if it gave one.
    pub(crate) fn refused(&mut self, peer: &Peer, category: Option<&str>, explanation: Option<&str>) {
        if category.is_none() && explanation.is_none() {
            return;
        }
        let category = category.map_or_else(String::new, |category| format!(" ({category})"));
        let explanation = explanation.map_or_else(String::new, |text| format!(": {}", peer.clean(text)));
        let text = format!("{} refused to answer{category}{explanation}", peer.provider);
        self.push(ModelEvent::Notice(text));
    }

    /// Queues any other event.
    pub(crate) fn push(&mut self, event: ModelEvent) {
        self.began |= !matches!(event, ModelEvent::Usage(_));
        self.events.push_back(event);
    }

    /// Counts bytes that a fold buffers until they are complete, such as arguments and signatures.
    pub(crate) fn count(&mut self, bytes: usize) {
        self.received += bytes;
    }

    /// Returns whether the answer exceeds [`ANSWER_BYTES`].
    pub(crate) fn is_too_long(&self) -> bool {
        self.received > ANSWER_BYTES
    }

    /// Parses an event, or a part of one. Malformed data is skipped and counted.
    pub(crate) fn read<'a, T: serde::Deserialize<'a>>(&mut self, data: &'a str) -> Option<T> {
        serde_json::from_str(data).map_err(|error| self.malformed(&error, data.len())).ok()
    }

    /// Counts and logs a malformed event. Its text may be private and is not logged.
    pub(crate) fn malformed(&mut self, error: &serde_json::Error, bytes: usize) {
        self.malformed += 1;
        tracing::warn!(%error, bytes, count = self.malformed, "skipped a malformed event in a model's answer");
    }

    /// Takes the next event.
    pub(crate) fn pop(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }
}

/// Returns the arguments of a call as they are sent back to a provider. Several servers parse them,
/// so text that is not a JSON object is wrapped in one.
pub(crate) fn sent_arguments(arguments: &Result<Value, MalformedArguments>) -> Cow<'_, Value> {
    match arguments {
        Ok(value) => Cow::Borrowed(value),
        Err(malformed) => Cow::Owned(serde_json::json!({ "malformed_arguments": malformed.raw })),
    }
}
