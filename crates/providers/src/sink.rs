//! Where the folds of the wires put what they understood.

use crate::http::Peer;
use agent::{ANSWER_BYTES, MalformedArguments, ModelEvent};
use serde_json::Value;
use std::{borrow::Cow, collections::VecDeque};

/// The events of one answer, in order, between the wire and the reader.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    events: VecDeque<ModelEvent>,
    /// Whether the answer has begun: from then on the request cannot be tried again. Token counts alone do not begin it.
    pub(crate) began: bool,
    /// Whether the model said why it stopped: what is missing then is only the end of the stream.
    pub(crate) finished: bool,
    /// Whether the end of the stream has been seen.
    pub(crate) ended: bool,
    /// How many events were no events of the wire.
    pub(crate) malformed: u32,
    /// Bytes of text, reasoning and arguments that came, whether they were handed on or are kept
    /// until they are whole.
    came: usize,
}

impl Sink {
    /// Text that arrived together is handed on together: it costs nothing in latency and saves the reader work in a burst.
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

    /// Reasoning for people, handed on as text is.
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

    /// Tells the user why the provider refused, as far as it says.
    pub(crate) fn refused(&mut self, peer: &Peer, category: Option<&str>, explanation: Option<&str>) {
        if category.is_none() && explanation.is_none() {
            return;
        }
        let category = category.map_or_else(String::new, |category| format!(" ({category})"));
        let explanation = explanation.map_or_else(String::new, |text| format!(": {}", peer.clean(text)));
        let text = format!("{} refused to answer{category}{explanation}", peer.provider);
        self.push(ModelEvent::Notice(text));
    }

    /// Any other event.
    pub(crate) fn push(&mut self, event: ModelEvent) {
        self.began |= !matches!(event, ModelEvent::Usage(_));
        self.events.push_back(event);
    }

    /// Counts bytes of the answer that a fold keeps until they are whole: arguments, signatures.
    pub(crate) fn count(&mut self, bytes: usize) {
        self.came += bytes;
    }

    /// Whether more came than an answer may hold.
    pub(crate) fn is_too_long(&self) -> bool {
        self.came > ANSWER_BYTES
    }

    /// Reads an event, or an item of one; what is none of this wire is passed over and counted.
    pub(crate) fn read<'a, T: serde::Deserialize<'a>>(&mut self, data: &'a str) -> Option<T> {
        serde_json::from_str(data).map_err(|error| self.malformed(&error, data.len())).ok()
    }

    /// An event that is none of this wire: passed over and counted. Its text may be private and is not logged.
    pub(crate) fn malformed(&mut self, error: &serde_json::Error, bytes: usize) {
        self.malformed += 1;
        tracing::warn!(%error, bytes, count = self.malformed, "skipped a malformed event in a model's answer");
    }

    /// The next event for the reader.
    pub(crate) fn pop(&mut self) -> Option<ModelEvent> {
        self.events.pop_front()
    }
}

/// The arguments of a call as they go back to a provider. Several servers parse them, so a raw text that was no object goes as an
/// object that holds it.
pub(crate) fn sent_arguments(arguments: &Result<Value, MalformedArguments>) -> Cow<'_, Value> {
    match arguments {
        Ok(value) => Cow::Borrowed(value),
        Err(malformed) => Cow::Owned(serde_json::json!({ "malformed_arguments": malformed.raw })),
    }
}
