//! The fixed beginning of requests to a model. It is made once per session and model and never
//! changes after that: providers cache it, and some bind the model's reasoning to it.

use crate::event::specs::{LastSpecs, ToolSpecs};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
};

/// The beginning of a session's requests to one model.
#[derive(Debug, Clone, PartialEq)]
pub struct Prefix {
    /// The model's full id, `provider/name`.
    pub model: String,
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools that the model is offered.
    pub tools: ToolSpecs,
}

/// A message of Tiller itself to the model, as part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Briefing {
    /// The text of the message.
    pub text: String,
    /// The facts that the text states, by name. A fact is sent again only when its value changes.
    /// An empty value means that the fact no longer holds.
    pub facts: BTreeMap<String, String>,
}

/// The facts that were sent to the model, by name; an empty value means that the model was informed
/// that the fact no longer holds.
pub(crate) type Known = BTreeMap<String, String>;

/// The last system prompt and tool set made in a runtime, for reuse by other sessions that have
/// equal ones.
#[derive(Default)]
pub(crate) struct SharedPrefixes {
    tools: LastSpecs,
    system: Mutex<Option<Weak<str>>>,
}

impl SharedPrefixes {
    fn system(&self, text: Arc<str>) -> Arc<str> {
        let mut last = self.system.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = last.as_ref().and_then(Weak::upgrade).filter(|last| *last == text) {
            return same;
        }
        *last = Some(Arc::downgrade(&text));
        text
    }

    /// Returns the last tool set if it is equal and in use, else the given one.
    pub(crate) fn tools(&self, specs: ToolSpecs) -> ToolSpecs {
        self.tools.shared(specs)
    }

    /// Returns an equal prefix that shares its parts with other sessions where they are equal.
    pub(crate) fn prefix(&self, prefix: Prefix) -> Prefix {
        let Prefix { model, system, tools } = prefix;
        Prefix { model, system: self.system(system), tools: self.tools.shared(tools) }
    }
}
