//! What requests to a model begin with. It is made once for a session and a model and never changes
//! after that: providers keep what they have read of it, and some bind what a model thought to it.

use crate::ToolSpecs;
use std::{collections::BTreeMap, sync::Arc};

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
