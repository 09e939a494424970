//! What requests to a model begin with. It is made once for a session and a model and never changes
//! after that: providers keep what they have read of it, and some bind what a model thought to it.

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
    /// The tools that are listed.
    pub tools: ToolSpecs,
}

/// Something that the model is told by Tiller itself, as a part of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Briefing {
    /// What the model reads.
    pub text: String,
    /// What it says, by name: what is told again only once it is another value. Empty for what is
    /// no longer there.
    pub facts: BTreeMap<String, String>,
}

/// What the model was told, by name; an empty value for what it was told is gone.
pub(crate) type Known = BTreeMap<String, String>;

/// The system prompt and the set of tools that a session of a runtime made last, for the other
/// sessions that have the same.
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

    /// The same set of tools where an equal one is in use.
    pub(crate) fn tools(&self, specs: ToolSpecs) -> ToolSpecs {
        self.tools.shared(specs)
    }

    /// The same, in parts that other sessions have too where they are equal.
    pub(crate) fn prefix(&self, prefix: Prefix) -> Prefix {
        let Prefix { model, system, tools } = prefix;
        Prefix { model, system: self.system(system), tools: self.tools.shared(tools) }
    }
}
